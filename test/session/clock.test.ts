/** Device clocks that are wrong, set back, or ahead, and devices that sleep. */

import { describe, expect, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { DAY, HOUR, loaded, MINUTE, names, START } from '../support/clock.ts';
import {
  fixtureForEachTest,
  openLoaded,
  recordOf,
  rotate,
  type Service,
  sealedFor,
  setVisible,
  success,
} from './fixtures.ts';

const fixture = fixtureForEachTest();

describe('the device’s clock', () => {
  test('set back while the page is open: the refresh is still on time', async () => {
    const { session, sent, advance } = await openLoaded();
    await advance(10 * MINUTE);
    vi.setSystemTime(Date.now() - 2 * HOUR);
    setVisible(true);
    await advance(4 * MINUTE);
    expect(session.state).toMatchObject({ phase: 'fresh', clockOffsetMs: undefined });
    expect(sent).toEqual([]);
    await advance(2 * MINUTE);
    expect(sent).toHaveLength(1);
  });

  test('correct, but the device sleeps during a refresh: the late answer, expired by then, is not used', async () => {
    let answer = (_: Response) => {};
    fixture.serve(() => new Promise((resolve) => (answer = resolve)));
    const { session, events } = fixture.open({ store: memoryStore(recordOf(1)) });
    await fixture.advance(15 * MINUTE);
    const late = await rotate(fixture.sent[0]!);
    vi.setSystemTime(Date.now() + 8 * HOUR);
    answer(late);
    await fixture.settle();
    expect(session.advertisingToken).toBeUndefined();
    expect(session.state.clockOffsetMs).toBeUndefined();
    expect(names(events)).not.toContain('token refresh');
  });
});

describe.each([-DAY, 90 * MINUTE])('two tabs whose clocks differ by %d ms', (ms) => {
  const openBoth = async (service: Service = rotate) => {
    fixture.serve(service);
    const name = `clocks-${ms}-${service === rotate ? 'up' : 'down'}`;
    const store = memoryStore();
    const first = fixture.open({ store, name, now: () => Date.now() + ms });
    await first.session.setTokens(success(1));
    const { session } = await loaded(fixture.open({ store, name }));
    return { ...fixture, session };
  };

  test('do not refresh in turns', async () => {
    const { session, sent, advance } = await openBoth();
    await advance(10 * MINUTE);
    expect(sent.length).toBeLessThanOrEqual(4);
    expect(session.advertisingToken).toBeDefined();
  });

  test('share their pauses in an outage', async () => {
    const { sent, advance } = await openBoth(() => new Promise((_, reject) => setTimeout(reject, 100)));
    await advance(45 * MINUTE);
    const most = Math.max(
      ...sent.map(({ at }) => sent.filter((one) => one.at >= at && one.at < at + 30 * MINUTE).length),
    );
    expect(most).toBeGreaterThan(5);
    expect(most).toBeLessThanOrEqual(15);
  });
});

test('set back during a refresh whose Date header cannot be read: no token is returned after its expiry', async () => {
  const startedAt = performance.now();
  const realNow = () => START + performance.now() - startedAt;
  let answer = () => {};
  let isFirst = true;
  fixture.serve(async ({ n }) => {
    if (isFirst) await new Promise<void>((resolve) => (answer = resolve));
    isFirst = false;
    return new Response(sealedFor(n, JSON.stringify(success(n + 1, realNow()))));
  });
  const { session } = fixture.open({ store: memoryStore(recordOf(1)) });
  await fixture.advance(15 * MINUTE + 1000);
  vi.setSystemTime(Date.now() - DAY);
  answer();
  for (let quarter = 0; quarter < 12; quarter++) {
    await fixture.advance(15 * MINUTE);
    const { expiresAt } = session.state;
    if (session.advertisingToken) expect(expiresAt).toBeGreaterThan(realNow());
  }
  expect(performance.now() - startedAt).toBeGreaterThan(3 * HOUR);
});
