/** Stale clocks, damaged records, endless answers, many tabs, long waits: the session goes on, and nothing grows. */

import { describe, expect, test, vi } from 'vitest';
import { memoryStore, type Store } from '../../src/session/index.ts';
import type { RetryState } from '../../src/session/rules/record.ts';
import { DAY, HOUR, MINUTE, names, START, until } from '../support/clock.ts';
import { openAsking } from './consent-fixture.ts';
import {
  answersPlain,
  dispatch,
  fakeLocks,
  fixtureForEachTest,
  recordOf,
  sealedFor,
  setVisible,
  success,
  wireSet,
} from './fixtures.ts';

const fixture = fixtureForEachTest();

describe('the Date of an answer', () => {
  const answeredWith = (dateMs: number) => {
    fixture.serve(
      ({ n }) =>
        new Response(sealedFor(n, JSON.stringify(success(n + 1))), {
          headers: { date: new Date(dateMs).toUTCString() },
        }),
    );
  };

  test.each([HOUR, 47 * HOUR])(
    'that is %d ms older than the request, as from a cache, prolongs no token',
    async (ageMs) => {
      answeredWith(START + 15 * MINUTE - ageMs);
      const { session } = fixture.open({ store: memoryStore(recordOf(1)) });
      await fixture.advance(15 * MINUTE);
      expect(session.advertisingToken).toBe('advertising-2');
      expect(session.state.clockOffsetMs).toBeUndefined();
      fixture.serve(() => new Promise(() => {}));
      await fixture.advance(HOUR);
      expect(session.advertisingToken).toBeUndefined();
    },
  );

  test('that is later than the request shortens the life of a token', async () => {
    answeredWith(START + 25 * MINUTE);
    const { session } = fixture.open({ store: memoryStore(recordOf(1)) });
    await fixture.advance(15 * MINUTE);
    expect(session.state.clockOffsetMs).toBe(10 * MINUTE);
  });
});

test('an absurd stored pause, or one that began in the future, delays the session by a day at most', async () => {
  const retry: RetryState = {
    attempts: 1,
    refusals: 0,
    countedAt: START,
    waitUntil: 1e14,
    reason: 'back_off',
    soonestAt: 0,
  };
  const record = recordOf(1, START - 20 * MINUTE);
  const { session } = fixture.open({ store: memoryStore({ ...record, retry }) });
  await session.ready;
  expect(session.state.next).toMatchObject({ reason: 'back_off' });
  const later = fixture.open({ store: memoryStore({ ...record, retry: { ...retry, countedAt: START + MINUTE } }) });
  await until(() => later.session.advertisingToken === 'advertising-2');
  vi.setSystemTime(START + DAY);
  dispatch('pageshow');
  await until(() => session.advertisingToken === 'advertising-2');
});

test('a refresh answer with the same refresh token is a success', async () => {
  const { refresh_token, refresh_response_key } = wireSet(1);
  fixture.serve(({ n }) => {
    const body = { ...wireSet(2), refresh_token, refresh_response_key };
    return new Response(sealedFor(n, JSON.stringify({ status: 'success', body })));
  });
  const { session, events } = fixture.open({ store: memoryStore(recordOf(1)) });
  await fixture.advance(15 * MINUTE);
  expect(session.advertisingToken).toBe('advertising-2');
  expect(names(events)).toEqual(['token load', 'token refresh']);
  expect(session.state).toMatchObject({ phase: 'fresh', lastError: undefined });
});

test('a refresh answer with the same tokens and later times is a success, also of a call', async () => {
  fixture.serve(({ n }) => {
    const body = { ...wireSet(1), identity_expires: wireSet(1).identity_expires + HOUR };
    return new Response(sealedFor(n, JSON.stringify({ status: 'success', body })));
  });
  const { session, events } = fixture.open({ store: memoryStore(recordOf(1)) });
  await session.ready;
  await session.refresh();
  expect(session.state.expiresAt).toBe(wireSet(1).identity_expires + HOUR);
  expect(names(events)).toEqual(['token load']);
});

test('a set refused four times is tried again after a day on a page that stays open', async () => {
  fixture.serve(answersPlain(403));
  const { session } = fixture.open({
    store: memoryStore({ ...recordOf(1), set: { ...recordOf(1).set, endsAt: START + 9 * DAY } }),
  });
  await fixture.advance(HOUR);
  expect(fixture.sent).toHaveLength(4);
  const last = fixture.sent.at(-1)!.at;
  fixture.serve(({ n }) => new Response(sealedFor(n, JSON.stringify(success(n + 1)))));
  await fixture.advance(last + DAY + 1_000 - Date.now());
  expect(fixture.sent).toHaveLength(5);
  expect(session.advertisingToken).toBe('advertising-2');
});

test('getToken() on a page that thaws waits for the token that comes a moment later', async () => {
  fixture.serve(() => Promise.reject(new TypeError('Failed to fetch')));
  const { session } = fixture.open({ store: memoryStore(recordOf(1)) });
  await fixture.advance(70 * MINUTE);
  dispatch('freeze');
  fixture.serve(({ n }) => new Response(sealedFor(n, JSON.stringify(success(n + 1)))));
  vi.setSystemTime(Date.now() + 2 * HOUR);
  dispatch('resume');
  const token = session.getToken();
  await fixture.advance(3_000);
  await expect(token).resolves.toBe('advertising-2');
});

test('ten tabs whose set has ended make one call of provide', async () => {
  fakeLocks();
  const store = memoryStore({ ...recordOf(1), ended: true, set: { ...recordOf(1).set, expiresAt: START + 1 } });
  const provide = vi.fn(async () => success(9));
  const name = 'ten-tabs-that-need-a-set';
  vi.setSystemTime(START + 2);
  const tabs = Array.from({ length: 10 }, () => fixture.open({ store, name, provide }));
  await until(() => tabs.every(({ session }) => session.advertisingToken === 'advertising-9'));
  expect(provide).toHaveBeenCalledOnce();
});

test('ten tabs without Web Locks make one call of provide', async () => {
  const store = memoryStore({ ...recordOf(1), ended: true, set: { ...recordOf(1).set, expiresAt: START + 1 } });
  const provide = vi.fn(async () => success(9));
  const name = 'ten-tabs-without-locks';
  vi.setSystemTime(START + 2);
  const tabs = Array.from({ length: 10 }, () => fixture.open({ store, name, provide }));
  await until(() => tabs.every(({ session }) => session.advertisingToken === 'advertising-9'));
  expect(provide).toHaveBeenCalledOnce();
});

test('ten tabs share the back-off of a provide that fails: it gets at most 15 calls in 30 minutes', async () => {
  const store = memoryStore();
  const provide = vi.fn(() => Promise.reject(new Error('no')));
  for (let tab = 0; tab < 10; tab++) fixture.open({ store, name: 'ten-tabs-whose-provide-fails', provide });
  await fixture.advance(30 * MINUTE);
  expect(provide.mock.calls.length).toBeGreaterThan(5);
  expect(provide.mock.calls.length).toBeLessThanOrEqual(15);
});

test('a tab without Web Locks that was closed during its call of provide delays the next one by its time limit at most', async () => {
  const store = memoryStore();
  const provide = vi.fn(async (): Promise<never> => new Promise(() => {}));
  const first = fixture.open({ store, provide });
  await first.session.ready;
  await fixture.settle();
  const leased = await store.read();
  expect(leased).toMatchObject({ lease: { at: START } });
  first.session.close();
  await fixture.settle();
  await store.update(() => leased);
  const next = fixture.open({ store, provide: async () => success(9) });
  await fixture.advance(11_000);
  expect(next.session.state.next).toMatchObject({ action: 'provide', reason: 'other_tab' });
  await fixture.advance(14_000);
  expect(next.session.advertisingToken).toBe('advertising-9');
});

test('wake-ups do not shorten the back-off of a provide that fails', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
  const provide = vi.fn(() => Promise.reject(new Error('no')));
  const { session } = fixture.open({ provide });
  await session.ready;
  await fixture.advance(60_000);
  const calls = provide.mock.calls.length;
  for (let wake = 0; wake < 10; wake++) dispatch('online');
  await fixture.advance(3_000);
  expect(provide.mock.calls.length).toBeLessThanOrEqual(calls + 1);
});

test('ready resolves within 1.5 s if a set is rendered into the page and the store hangs', async () => {
  const never = () => new Promise<never>(() => {});
  const store: Store = { read: never, update: never };
  const { session } = fixture.open({ store, tokens: success(1) });
  let isReady = false;
  void session.ready.then(() => (isReady = true));
  await fixture.advance(1_500);
  expect(isReady).toBe(true);
});

test('500 wake-ups while consent is pending cause one read', async () => {
  const { touched, grant, settle } = openAsking(recordOf(1));
  for (let wake = 0; wake < 500; wake++) setVisible(true);
  grant();
  await settle();
  expect(touched).toHaveBeenCalledTimes(1);
});

test('a flood of messages waits for one read at a time, and IndexedDB is not given up', async () => {
  let reading = 0;
  let reads = 0;
  const inner = memoryStore(recordOf(1));
  let finish = () => {};
  const slow: Store = {
    ...inner,
    read: () => {
      reads++;
      reading++;
      return new Promise((resolve) => {
        finish = () => {
          reading--;
          inner.read().then(resolve);
        };
      });
    },
  };
  const name = 'flooded';
  const { session, events } = fixture.open({ store: slow, name });
  await until(() => reading);
  finish();
  await session.ready;
  const channel = new BroadcastChannel(name);
  for (let message = 0; message < 5_000; message++) channel.postMessage(1);
  await fixture.settle();
  for (let turn = 0; turn < 3; turn++) {
    finish();
    await fixture.settle();
  }
  channel.close();
  expect(session.advertisingToken).toBe('advertising-1');
  expect(names(events)).toEqual(['token load']);
  // The first one, the one during which the messages arrive, and one more for all of them.
  expect(reads).toBeLessThanOrEqual(4);
});

describe("with refresh: 'off'", () => {
  test('a page that slept past the end of both tokens asks the host', async () => {
    const set = { ...recordOf(1).set, endsAt: recordOf(1).set.expiresAt };
    const { session, events } = fixture.open({ refresh: 'off', store: memoryStore({ ...recordOf(1), set }) });
    await session.ready;
    await fixture.advance(2 * HOUR);
    expect(names(events)).toContain('needsTokens ended');
    expect(session.state.next).toMatchObject({ reason: 'host' });
  });
});
