/** Several things go wrong at once: each case has been seen to show a former user, to lose a set, or to go round in circles. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore, type Store } from '../../src/session/index.ts';
import { DAY, HOUR, MINUTE, names, START, useFakeClock } from '../support/fixtures.ts';
import { createFixture, full, hangs, offline, recordOf, restoreGlobals, sealedFor, success } from './fixtures.ts';

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
    const place = memoryStore(recordOf(1));
    const tab = fixture.open({ name: 'alone', store: full(place) });
    await tab.session.ready;
    await fixture.pass(15 * MINUTE);
    expect(tab.session.advertisingToken).toBe('advertising-2');
    expect(tab.session.state.persistence).toBe('memory');
    leave();
    await fixture.rest();
    const other = fixture.open({ name: 'alone', store: place });
    await other.session.clear();
    await fixture.rest();
    comeBack();
    await fixture.rest();
    expect(tab.session.advertisingToken).toBeUndefined();
    await fixture.pass(20 * MINUTE);
    expect(tab.session.advertisingToken).toBeUndefined();
  });
});

describe('a logout on a full disk', () => {
  test.each(['close', 'pagehide'])('reaches the others though %s follows at once', async (how) => {
    const place = memoryStore(recordOf(1));
    const other = new BroadcastChannel('full');
    const told: unknown[] = [];
    other.onmessage = ({ data }) => told.push(data);
    const { session } = fixture.open({ name: 'full', store: full(place) });
    await session.ready;
    await fixture.rest();
    void session.clear();
    if (how === 'close') session.close();
    else fire('pagehide');
    await fixture.rest();
    expect(await place.read()).toBeUndefined();
    other.close();
    expect(told).toContain(1);
  });

  test.each([true, false])('makes no other tab ask for the user again (full: %s)', async (isFull) => {
    const place = memoryStore(recordOf(1));
    const provide = vi.fn(async () => success(7));
    const other = fixture.open({ name: 'asks', store: place, provide });
    const { session } = fixture.open({ name: 'asks', store: isFull ? full(place) : place });
    await Promise.all([other.session.ready, session.ready]);
    await session.clear();
    await fixture.rest();
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
  const { session } = fixture.open({ name: 'leaves', store });
  await session.ready;
  void session.setTokens(success(4));
  await fixture.rest();
  const other = new BroadcastChannel('leaves');
  fire('pagehide');
  other.postMessage(1);
  await fixture.rest();
  finish();
  await fixture.rest();
  await place.update((record) => ({ ...(record as object), generation: 9, set: undefined, clearedAt: Date.now() }));
  fire('pageshow');
  expect(session.advertisingToken).toBeUndefined();
  other.close();
  await fixture.rest();
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
  await fixture.rest();
  await store.update(() => value);
  fire('pageshow');
  await fixture.rest();
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
  await fixture.pass(15 * MINUTE + 1000);
  vi.setSystemTime(Date.now() - DAY);
  answer();
  for (let quarter = 0; quarter < 12; quarter++) {
    await fixture.pass(15 * MINUTE);
    const { expiresAt } = session.state;
    if (session.advertisingToken) expect(expiresAt).toBeGreaterThan(realNow());
  }
  expect(performance.now() - begunAt).toBeGreaterThan(3 * HOUR);
});

test('a set of the page that is known already does not take the cause of one that is supplied at once', async () => {
  const { session, heard } = fixture.open({ tokens: success(1), store: memoryStore(recordOf(1)) });
  await session.setTokens(success(5));
  await fixture.rest();
  expect(names(heard)).toEqual(['token set']);
});

test('a store that says it has written, and has not, is no reason to call again and again', async () => {
  let calls = 0;
  // Nobody wants a test that never ends.
  fixture.serve((sent) => (calls++ < 50 ? offline(sent) : hangs(sent)));
  const record = recordOf(1);
  fixture.open({ store: { read: async () => record, update: async (change) => change(record) } });
  await fixture.pass(15 * MINUTE + 1000);
  expect(calls).toBeGreaterThan(0);
  expect(calls).toBeLessThan(20);
});
