/** Several things go wrong at once: each case has been seen to show a former user, to lose a set, or to go round in circles. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore, type Store } from '../../src/session/index.ts';
import { DAY, HOUR, MINUTE, names, START, useFakeClock } from '../support/scene.ts';
import { createStage, full, hangs, offline, recordOf, sealedFor, strike, success } from './stage.ts';

let stage: ReturnType<typeof createStage>;
beforeEach(() => {
  useFakeClock();
  stage = createStage();
});
afterEach(() => {
  stage.close();
  strike();
});
const fire = (type: string) => window.dispatchEvent(new Event(type));

describe('a tab whose store has failed goes on in memory, and hears of a logout elsewhere', () => {
  test.each([
    ['while it is there', () => {}, () => {}],
    ['when it is back', () => fire('pagehide'), () => fire('pageshow')],
  ])('%s', async (_, leave, comeBack) => {
    const place = memoryStore(recordOf(1));
    const tab = stage.open({ name: 'alone', store: full(place) });
    await tab.session.ready;
    await stage.pass(15 * MINUTE);
    expect(tab.session.advertisingToken).toBe('advertising-2');
    expect(tab.session.state.persistence).toBe('memory');
    leave();
    await stage.rest();
    const other = stage.open({ name: 'alone', store: place });
    await other.session.clear();
    await stage.rest();
    comeBack();
    await stage.rest();
    expect(tab.session.advertisingToken).toBeUndefined();
    await stage.pass(20 * MINUTE);
    expect(tab.session.advertisingToken).toBeUndefined();
  });
});

describe('a logout on a full disk', () => {
  test.each(['close', 'pagehide'])('reaches the others though %s follows at once', async (how) => {
    const place = memoryStore(recordOf(1));
    const other = new BroadcastChannel('full');
    const told: unknown[] = [];
    other.onmessage = ({ data }) => told.push(data);
    const { session } = stage.open({ name: 'full', store: full(place) });
    await session.ready;
    await stage.rest();
    void session.clear();
    if (how === 'close') session.close();
    else fire('pagehide');
    await stage.rest();
    expect(await place.read()).toBeUndefined();
    other.close();
    expect(told).toContain(1);
  });

  test.each([true, false])('makes no other tab ask for the user again (full: %s)', async (isFull) => {
    const place = memoryStore(recordOf(1));
    const provide = vi.fn(async () => success(7));
    const other = stage.open({ name: 'asks', store: place, provide });
    const { session } = stage.open({ name: 'asks', store: isFull ? full(place) : place });
    await Promise.all([other.session.ready, session.ready]);
    await session.clear();
    await stage.rest();
    expect(other.session.advertisingToken).toBeUndefined();
    expect(provide).not.toHaveBeenCalled();
  });
});

test('news that arrives while a page is leaving is not believed when it comes back', async () => {
  const place = memoryStore(recordOf(1));
  let finish = () => {};
  const store: Store = {
    ...place,
    update: async (change) => {
      await new Promise<void>((resolve) => (finish = resolve));
      return place.update(change);
    },
  };
  const { session } = stage.open({ name: 'leaves', store });
  await session.ready;
  void session.setTokens(success(4));
  await stage.rest();
  const other = new BroadcastChannel('leaves');
  fire('pagehide');
  other.postMessage(1);
  await stage.rest();
  finish();
  await stage.rest();
  await place.update((record) => ({ ...(record as object), generation: 9, set: undefined, clearedAt: Date.now() }));
  fire('pageshow');
  expect(session.advertisingToken).toBeUndefined();
  other.close();
  await stage.rest();
  expect(session.advertisingToken).toBeUndefined();
});

test.each([
  ['is of another operator', { ...recordOf(5), baseUrl: 'https://other.example' }],
  ['is damaged', { v: 1, generation: 'x' }],
  ['is null', null],
])('a page from the cache whose record %s by then has no user', async (_, value) => {
  const store = memoryStore(recordOf(1, START));
  const { session } = stage.open({ store });
  await session.ready;
  fire('pagehide');
  await stage.rest();
  await store.update(() => value);
  fire('pageshow');
  await stage.rest();
  expect(session.advertisingToken).toBeUndefined();
});

test('a clock that is set back in the middle of a refresh, with no Date to be read, prolongs no token', async () => {
  const begunAt = performance.now();
  const realNow = () => START + performance.now() - begunAt;
  let answer = () => {};
  let isFirst = true;
  stage.serve(async ({ n }) => {
    if (isFirst) await new Promise<void>((resolve) => (answer = resolve));
    isFirst = false;
    return new Response(sealedFor(n, JSON.stringify(success(n + 1, realNow()))));
  });
  const { session } = stage.open({ store: memoryStore(recordOf(1)) });
  await stage.pass(15 * MINUTE + 1000);
  vi.setSystemTime(Date.now() - DAY);
  answer();
  for (let quarter = 0; quarter < 12; quarter++) {
    await stage.pass(15 * MINUTE);
    const { expiresAt } = session.state;
    if (session.advertisingToken) expect(expiresAt).toBeGreaterThan(realNow());
  }
  expect(performance.now() - begunAt).toBeGreaterThan(3 * HOUR);
});

test('a set of the page that is known already does not take the cause of one that is supplied at once', async () => {
  const { session, heard } = stage.open({ tokens: success(1), store: memoryStore(recordOf(1)) });
  await session.setTokens(success(5));
  await stage.rest();
  expect(names(heard)).toEqual(['token set']);
});

test('a store that says it has written, and has not, is no reason to call again and again', async () => {
  let calls = 0;
  // Nobody wants a test that never ends.
  stage.serve((sent) => (calls++ < 50 ? offline(sent) : hangs(sent)));
  const record = recordOf(1);
  stage.open({ store: { read: async () => record, update: async (change) => change(record) } });
  await stage.pass(15 * MINUTE + 1000);
  expect(calls).toBeGreaterThan(0);
  expect(calls).toBeLessThan(20);
});
