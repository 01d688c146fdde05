/** Device clocks that are wrong, set back, or ahead, and devices that sleep. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { DAY, HOUR, MINUTE, names, START, until, useFakeClock } from '../support/fixtures.ts';
import {
  createFixture,
  offline,
  openLoaded,
  recordOf,
  restoreGlobals,
  rotate,
  sealedFor,
  setVisible,
  success,
} from './fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

describe('the device’s clock', () => {
  test('set back while the page is open: the refresh is still on time, and a page opened afterwards knows the offset too', async () => {
    const { session, store, sent, advance, open, close } = await openLoaded();
    await advance(10 * MINUTE);
    vi.setSystemTime(Date.now() - 2 * HOUR);
    await advance(1);
    setVisible(true);
    await advance(1);
    expect(session.state.clockOffsetMs).toBeGreaterThan(2 * HOUR - MINUTE);
    expect(sent).toEqual([]);
    const next = open({ store });
    await next.session.ready;
    expect(next.session.state).toMatchObject({ phase: 'fresh', clockOffsetMs: session.state.clockOffsetMs });
    await advance(6 * MINUTE);
    expect(sent).toHaveLength(1);
    close();
  });

  test('set back by twenty years: an expired token is not returned after the page has read its record again', async () => {
    const fixture = createFixture(offline);
    const { session } = fixture.openStored();
    await session.ready;
    await fixture.advance(10 * MINUTE);
    vi.setSystemTime(Date.now() - 20 * 365 * DAY);
    for (const visible of [true, false, true]) {
      setVisible(visible);
      await fixture.advance(5_000);
    }
    expect(session.state.phase).toBe('fresh');
    await fixture.advance(HOUR);
    expect(session.state.phase).toBe('stale');
    expect(session.advertisingToken).toBeUndefined();
    fixture.close();
  });

  test('set back while the stored set has no time of arrival: an expired token is not returned', async () => {
    const fixture = createFixture(offline);
    const { session } = fixture.open({ store: memoryStore({ ...recordOf(1), receivedAt: undefined }) });
    await session.ready;
    await fixture.advance(30 * MINUTE);
    vi.setSystemTime(Date.now() - 2 * HOUR);
    setVisible(true);
    await fixture.advance(40 * MINUTE);
    expect(session.advertisingToken).toBeUndefined();
    fixture.close();
  });

  test('set back after `provide` has failed: `provide` is called again after its back-off, not a day later', async () => {
    const provide = vi.fn(async () => Promise.reject(new Error('unreachable')));
    const fixture = createFixture();
    const { session } = fixture.open({ provide });
    await session.ready;
    await fixture.advance(1);
    vi.setSystemTime(Date.now() - DAY);
    await fixture.advance(2 * MINUTE);
    expect(provide.mock.calls.length).toBeGreaterThan(1);
    fixture.close();
  });

  test('set back while no page was open: no token is returned until the service has answered', async () => {
    const fixture = createFixture();
    const store = memoryStore(recordOf(1, START + 2 * HOUR));
    const { session, events } = fixture.open({ store });
    await session.ready;
    expect(session.advertisingToken).toBeUndefined();
    await until(() => session.advertisingToken);
    expect(names(events)).toEqual(['token refresh']);
    expect(fixture.sent).toHaveLength(1);
    fixture.close();
  });

  test.each([1, 24, 40 * 24])(
    'jumps ahead by %d h: the session sends one refresh and deletes nothing',
    async (hours) => {
      const { session, store, sent, advance, close } = await openLoaded();
      vi.setSystemTime(Date.now() + hours * HOUR);
      await advance(2 * MINUTE);
      expect(sent).toHaveLength(1);
      expect(session.advertisingToken).toBe('advertising-2');
      expect(await store.read()).toMatchObject({ set: { advertisingToken: 'advertising-2' } });
      close();
    },
  );

  test('an hour ahead of the service, whose Date header cannot be read: a set keeps its whole lifetime, so there is no refresh loop', async () => {
    const fixture = createFixture(
      ({ n }) => new Response(sealedFor(n, JSON.stringify(success(n + 1, Date.now() - HOUR)))),
    );
    fixture.open({ store: memoryStore(recordOf(1, START - HOUR)) });
    for (let minute = 0; minute < 360; minute++) await fixture.advance(MINUTE);
    expect(fixture.sent.length).toBeGreaterThan(5);
    expect(fixture.sent.length).toBeLessThanOrEqual(25);
    fixture.close();
  });

  test('correct, but the device sleeps during a refresh: the late answer, expired by then, is not used', async () => {
    let answer = (_: Response) => {};
    const fixture = createFixture(() => new Promise((resolve) => (answer = resolve)));
    const { session, events } = fixture.open({ store: memoryStore(recordOf(1)) });
    await fixture.advance(15 * MINUTE);
    const late = await rotate(fixture.sent[0]!);
    vi.setSystemTime(Date.now() + 8 * HOUR);
    answer(late);
    await fixture.settle();
    expect(session.advertisingToken).toBeUndefined();
    expect(session.state.clockOffsetMs).toBeUndefined();
    expect(names(events)).not.toContain('token refresh');
    fixture.close();
  });
});

test('set back during a refresh: the attempt ends all the same, and the next one starts', async () => {
  const fixture = createFixture();
  let answer = () => {};
  fixture.serve(async ({ n }) => {
    if (n === 1) await new Promise<void>((resolve) => (answer = resolve));
    return new Response(sealedFor(n, JSON.stringify(success(n + 1))));
  });
  const { session } = fixture.open({ store: memoryStore(recordOf(1)) });
  await fixture.advance(15 * MINUTE + 1000);
  vi.setSystemTime(Date.now() - MINUTE);
  // The session notices the step while the answer is on its way.
  setVisible(true);
  await fixture.advance(1);
  answer();
  await until(() => session.advertisingToken === 'advertising-2');
  expect(session.state.next?.reason).toBe('refresh_from');
  await session.refresh();
  expect(session.advertisingToken).toBe('advertising-3');
  fixture.close();
});

test('set back during a refresh whose Date header cannot be read: no token is returned after its expiry', async () => {
  const fixture = createFixture();
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
  fixture.close();
});
