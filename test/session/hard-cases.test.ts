/** Several things go wrong at once: each case has been seen to show a former user, to lose a set, or to go round in circles. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore, type Store } from '../../src/session/index.ts';
import { DAY, HOUR, MINUTE, names, START, useFakeClock } from '../support/fixtures.ts';
import { createFixture, fullStore, hangs, offline, recordOf, restoreGlobals, sealedFor, success } from './fixtures.ts';

let fixture: ReturnType<typeof createFixture>;
beforeEach(() => {
  useFakeClock();
  fixture = createFixture();
});
afterEach(() => {
  fixture.close();
  restoreGlobals();
});
const fire = (type: string) => window.dispatchEvent(new Event(type));

describe('a tab whose store has failed goes on in memory, and hears of a logout elsewhere', () => {
  test.each([
    ['while it is there', () => {}, () => {}],
    ['when it is back', () => fire('pagehide'), () => fire('pageshow')],
  ])('%s', async (_, leave, comeBack) => {
    const inner = memoryStore(recordOf(1));
    const tab = fixture.open({ name: 'alone', store: fullStore(inner) });
    await tab.session.ready;
    await fixture.advance(15 * MINUTE);
    expect(tab.session.advertisingToken).toBe('advertising-2');
    expect(tab.session.state.persistence).toBe('memory');
    leave();
    await fixture.settle();
    const other = fixture.open({ name: 'alone', store: inner });
    await other.session.clear();
    await fixture.settle();
    comeBack();
    await fixture.settle();
    expect(tab.session.advertisingToken).toBeUndefined();
    await fixture.advance(20 * MINUTE);
    expect(tab.session.advertisingToken).toBeUndefined();
  });
});

describe('a logout on a full disk', () => {
  test.each(['close', 'pagehide'])('reaches the others though %s follows at once', async (how) => {
    const inner = memoryStore(recordOf(1));
    const other = new BroadcastChannel('full');
    const told: unknown[] = [];
    other.onmessage = ({ data }) => told.push(data);
    const { session } = fixture.open({ name: 'full', store: fullStore(inner) });
    await session.ready;
    await fixture.settle();
    void session.clear();
    if (how === 'close') session.close();
    else fire('pagehide');
    await fixture.settle();
    expect(await inner.read()).toBeUndefined();
    other.close();
    expect(told).toContain(1);
  });

  test.each([true, false])('makes no other tab ask for the user again (full: %s)', async (isFull) => {
    const inner = memoryStore(recordOf(1));
    const provide = vi.fn(async () => success(7));
    const other = fixture.open({ name: 'asks', store: inner, provide });
    const { session } = fixture.open({ name: 'asks', store: isFull ? fullStore(inner) : inner });
    await Promise.all([other.session.ready, session.ready]);
    await session.clear();
    await fixture.settle();
    expect(other.session.advertisingToken).toBeUndefined();
    expect(provide).not.toHaveBeenCalled();
  });
});

test('news that arrives while a page is leaving is not believed when it comes back', async () => {
  const inner = memoryStore(recordOf(1));
  let finish = () => {};
  const store: Store = {
    ...inner,
    update: async (change) => {
      await new Promise<void>((resolve) => (finish = resolve));
      return inner.update(change);
    },
  };
  const { session } = fixture.open({ name: 'leaves', store });
  await session.ready;
  void session.setTokens(success(4));
  await fixture.settle();
  const other = new BroadcastChannel('leaves');
  fire('pagehide');
  other.postMessage(1);
  await fixture.settle();
  finish();
  await fixture.settle();
  await inner.update((record) => ({ ...(record as object), generation: 9, set: undefined, clearedAt: Date.now() }));
  fire('pageshow');
  expect(session.advertisingToken).toBeUndefined();
  other.close();
  await fixture.settle();
  expect(session.advertisingToken).toBeUndefined();
});

test.each([
  ['is of another operator', { ...recordOf(5), baseUrl: 'https://other.example' }],
  ['is damaged', { v: 1, generation: 'x' }],
  ['is null', null],
])('a page from the cache whose record %s by then has no user', async (_, value) => {
  const store = memoryStore(recordOf(1, START));
  const { session } = fixture.open({ store });
  await session.ready;
  fire('pagehide');
  await fixture.settle();
  await store.update(() => value);
  fire('pageshow');
  await fixture.settle();
  expect(session.advertisingToken).toBeUndefined();
});

test('a clock that is set back in the middle of a refresh, with no Date to be read, prolongs no token', async () => {
  const begunAt = performance.now();
  const realNow = () => START + performance.now() - begunAt;
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
  expect(performance.now() - begunAt).toBeGreaterThan(3 * HOUR);
});

test('a set of the page that is known already does not take the cause of one that is supplied at once', async () => {
  const { session, events } = fixture.open({ tokens: success(1), store: memoryStore(recordOf(1)) });
  await session.setTokens(success(5));
  await fixture.settle();
  expect(names(events)).toEqual(['token set']);
});

test('a store that says it has written, and has not, is no reason to call again and again', async () => {
  let calls = 0;
  // Nobody wants a test that never ends.
  fixture.serve((sent) => (calls++ < 50 ? offline(sent) : hangs(sent)));
  const record = recordOf(1);
  fixture.open({ store: { read: async () => record, update: async (change) => change(record) } });
  await fixture.advance(15 * MINUTE + 1000);
  expect(calls).toBeGreaterThan(0);
  expect(calls).toBeLessThan(20);
});
