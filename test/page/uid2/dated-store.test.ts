/** The store that dates acts, for the drop-in: times of acts, another operator, and memory in place of a failed database. */

import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createDatedStore } from '../../../src/page/uid2/dated-store.ts';
import { indexedDbStore } from '../../../src/session/index.ts';
import { BASE_URL, recordOf, restoreGlobals, watchRejections } from '../../session/fixtures.ts';
import { START, useFakeClock } from '../../support/clock.ts';

const NAME = 'watched';
const put = (value: object) => () => value;
const loggedIn = (generation: number, n = 1) => ({ ...recordOf(n, START), generation });

beforeEach(() => {
  useFakeClock();
  vi.stubGlobal('indexedDB', new IDBFactory());
});
afterEach(restoreGlobals);

test('nothing stored is undefined', async () => {
  const store = createDatedStore(NAME, BASE_URL);
  expect(await store.read()).toBeUndefined();
  expect(store.view()).toBeUndefined();
});

test('a new generation is an act at the current time; a change of the same generation keeps its time', async () => {
  const store = createDatedStore(NAME, BASE_URL);
  await store.update(put(loggedIn(1)));
  expect(store.view()).toMatchObject({ actAt: START, generation: 1 });
  vi.setSystemTime(START + 5_000);
  await store.update(put(loggedIn(1, 2)));
  expect(store.view()).toMatchObject({ actAt: START, set: { advertisingToken: 'advertising-2' } });
  await store.update(put({ v: 1, generation: 2, baseUrl: BASE_URL, offsetMs: 0, clearedAt: START + 5_000 }));
  expect(store.view()).toMatchObject({ actAt: START + 5_000, clearedAt: START + 5_000 });
  expect(store.view()).not.toHaveProperty('set');
});

test.each([0n, '5', Number.NaN, Number.POSITIVE_INFINITY, {}, 1e300])(
  'a stored time that is none, %s, reads as absent',
  async (actAt) => {
    await indexedDbStore(NAME).update(put({ ...loggedIn(1), actAt }));
    const store = createDatedStore(NAME, BASE_URL);
    await store.read();
    expect(store.view()).toMatchObject({ generation: 1, actAt: undefined });
    await store.update(put(loggedIn(2)));
    expect(store.view()?.actAt).toBe(START);
  },
);

test('acts stay in order if the clock is set back', async () => {
  const store = createDatedStore(NAME, BASE_URL);
  await store.update(put(loggedIn(1)));
  vi.setSystemTime(START - 60_000);
  await store.update(put(loggedIn(2)));
  expect(store.view()?.actAt).toBe(START + 1);
});

test('an act that is announced before the former one is written is later, even if the clock is set back between them', async () => {
  const store = createDatedStore(NAME, BASE_URL);
  const loginAt = store.expectAct(recordOf(1).set.refreshToken);
  vi.setSystemTime(START - 60_000);
  const logoutAt = store.expectAct(undefined);
  expect([loginAt, logoutAt]).toEqual([START, START + 1]);
  await store.update(put(loggedIn(1)));
  await store.update(put({ v: 1, generation: 2, baseUrl: BASE_URL, offsetMs: 0, clearedAt: START }));
  expect(store.view()?.actAt).toBe(logoutAt);
});

test('an announced time is no earlier than that of the previous record', async () => {
  const store = createDatedStore(NAME, BASE_URL);
  store.expectAct(undefined, START);
  vi.setSystemTime(START + 60_000);
  await store.update(put(loggedIn(1)));
  await store.update(put({ v: 1, generation: 2, baseUrl: BASE_URL, offsetMs: 0, clearedAt: START }));
  expect(store.view()?.actAt).toBe(START + 60_001);
});

test('a set from elsewhere has the time of its own login', async () => {
  const store = createDatedStore(NAME, BASE_URL);
  store.expectAct(recordOf(1).set.refreshToken, START - 60_000);
  await store.update(put(loggedIn(1)));
  expect(store.view()?.actAt).toBe(START - 60_000);
});

test('a record of another operator is read as one of this operator', async () => {
  await createDatedStore(NAME, BASE_URL).update(put(loggedIn(1)));
  const store = createDatedStore(NAME, 'https://other.example');
  expect(await store.read()).toMatchObject({ baseUrl: 'https://other.example', generation: 1 });
});

test('a change that returns its argument writes nothing', async () => {
  await createDatedStore(NAME, BASE_URL).update(put(loggedIn(1)));
  await createDatedStore(NAME, 'https://other.example').update((stored) => stored);
  expect(await indexedDbStore(NAME).read()).toMatchObject({ baseUrl: BASE_URL });
});

test('without IndexedDB the record lives in memory', async () => {
  Reflect.deleteProperty(globalThis, 'indexedDB');
  const store = createDatedStore(NAME, BASE_URL);
  await store.update(put(loggedIn(1)));
  expect([store.kind, await store.read()]).toEqual(['memory', expect.objectContaining({ generation: 1 })]);
});

test('an announced time counts for one act: a later logout has its own', async () => {
  const store = createDatedStore(NAME, BASE_URL);
  const loggedOut = (generation: number) => ({ ...loggedIn(generation), set: undefined, clearedAt: START });
  await store.update(put(loggedIn(1)));
  const announced = START + 1000;
  store.expectAct(undefined, announced);
  await store.update(put(loggedOut(2)));
  expect(store.view()?.actAt).toBe(announced);
  await store.update(put(loggedIn(3)));
  vi.setSystemTime(START + 60_000);
  await store.update(put(loggedOut(4)));
  expect(store.view()?.actAt).toBe(START + 60_000);
});

test('an announced time waits for its act: a change that is none, with the same outcome, does not use it up', async () => {
  const store = createDatedStore(NAME, BASE_URL);
  await store.update(put({ ...loggedIn(1), set: undefined, clearedAt: START }));
  const announced = store.expectAct(undefined, START + 1000);
  await store.update(put({ ...loggedIn(1), set: undefined, clearedAt: START, offsetMs: 7_000 }));
  expect(store.view()?.actAt).toBe(START);
  await store.update(put({ ...loggedIn(2), set: undefined, clearedAt: START }));
  expect(store.view()?.actAt).toBe(announced);
});

test('a database that works is used once for each act', async () => {
  const store = createDatedStore(NAME, BASE_URL);
  await store.read();
  const transaction = vi.spyOn(IDBDatabase.prototype, 'transaction');
  await store.update(put(loggedIn(1)));
  await store.update(put(loggedIn(2)));
  expect(transaction).toHaveBeenCalledTimes(2);
});

describe('a database that fails', () => {
  const loggedOut = (generation: number, at = Date.now()) => ({
    ...loggedIn(generation),
    set: undefined,
    clearedAt: at,
  });
  const stored = () => indexedDbStore(NAME).read();

  /** Let the database, which exists, fail from now on. Returns the function that ends this. */
  const fail = () => {
    const transaction = vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(() => {
      throw new DOMException('gone', 'InvalidStateError');
    });
    return () => transaction.mockRestore();
  };

  /** Delay the opening of the database. Returns the function that opens it. */
  const delayOpening = () => {
    const { indexedDB } = globalThis;
    const waiting: (() => void)[] = [];
    const open = (name: string) => {
      const request = {} as { result?: IDBDatabase; onsuccess?: () => void };
      waiting.push(() => {
        const real = indexedDB.open(name);
        real.onsuccess = () => {
          request.result = real.result;
          request.onsuccess?.();
        };
      });
      return request;
    };
    vi.stubGlobal('indexedDB', { open });
    return () => {
      vi.stubGlobal('indexedDB', indexedDB);
      for (const release of waiting) release();
    };
  };

  const settle = async () => {
    for (let turns = 0; turns < 40; turns++) await new Promise(setImmediate);
  };

  test('is replaced by memory, which starts from what is known and keeps the time of the act', async () => {
    const store = createDatedStore(NAME, BASE_URL);
    await store.update(put(loggedIn(1)));
    expect(store.kind).toBe('indexeddb');
    fail();
    vi.setSystemTime(START + 5_000);
    expect(await store.read()).toMatchObject({ generation: 1, actAt: START });
    expect(store.kind).toBe('memory');
    await store.update(put(loggedIn(1, 2)));
    expect(store.view()).toMatchObject({ actAt: START, set: { advertisingToken: 'advertising-2' } });
    await store.update(put(loggedIn(2, 3)));
    expect(store.view()).toMatchObject({ actAt: START + 5_000, set: { advertisingToken: 'advertising-3' } });
    expect(await store.read()).toEqual(store.view());
  });

  test('at an update: the change is applied to what is known, with its announced time', async () => {
    const store = createDatedStore(NAME, BASE_URL);
    await store.update(put(loggedIn(1)));
    fail();
    const actAt = store.expectAct(undefined, START + 7);
    const changes: unknown[] = [];
    await store.update((before) => {
      changes.push(before);
      return loggedOut(2);
    });
    expect(changes).toEqual([expect.objectContaining({ generation: 1, baseUrl: BASE_URL })]);
    expect(store.view()).toMatchObject({ generation: 2, actAt, clearedAt: START });
  });

  test('before it was read: memory is older than every act, and so is a change that is none', async () => {
    await stored();
    fail();
    const store = createDatedStore(NAME, BASE_URL);
    expect(await store.read()).toBeUndefined();
    expect([store.kind, store.view()]).toEqual(['memory', undefined]);
    await store.update(put({ ...loggedOut(0), clearedAt: undefined }));
    expect(store.view()).toMatchObject({ generation: 0, actAt: 0 });
    await store.update(put(loggedIn(1)));
    expect(store.view()).toMatchObject({ actAt: START });
  });

  test('because it takes longer than a second, less than the session waits: its late answer changes nothing', async () => {
    await createDatedStore(NAME, BASE_URL).update(put(loggedIn(1)));
    const before = await stored();
    const release = delayOpening();
    const store = createDatedStore(NAME, BASE_URL);
    const change = vi.fn(put(loggedIn(0, 2)));
    const updated = store.update(change);
    await vi.advanceTimersByTimeAsync(999);
    expect([store.kind, change.mock.calls]).toEqual(['indexeddb', []]);
    await vi.advanceTimersByTimeAsync(1);
    await updated;
    expect([store.kind, change.mock.calls]).toEqual(['memory', [[undefined]]]);
    release();
    await settle();
    expect(change).toHaveBeenCalledOnce();
    expect(store.view()).toMatchObject({ set: { advertisingToken: 'advertising-2' } });
    expect(await stored()).toEqual(before);
  });

  test('during a read that has not ended: the read answers from memory', async () => {
    await createDatedStore(NAME, BASE_URL).update(put(loggedIn(1)));
    const release = delayOpening();
    const store = createDatedStore(NAME, BASE_URL);
    const updated = store.update(put(loggedIn(1, 2)));
    await vi.advanceTimersByTimeAsync(500);
    const read = store.read();
    await vi.advanceTimersByTimeAsync(500);
    release();
    await updated;
    expect(await read).toMatchObject({ set: { advertisingToken: 'advertising-2' } });
  });

  test.each<readonly [act: string, change: () => object]>([
    ['a logout', () => loggedOut(2)],
    ['another user', () => loggedIn(2, 5)],
  ])('is erased once it works again, at %s, so that the next page does not find the former user', async (_, change) => {
    const store = createDatedStore(NAME, BASE_URL);
    await store.update(put(loggedIn(1)));
    const restore = fail();
    await store.read();
    vi.setSystemTime(START + 5_000);
    await store.update(put(loggedIn(1, 2)));
    restore();
    await settle();
    expect(await stored()).toMatchObject({ generation: 1 });
    await store.update(put(change()));
    await settle();
    expect([store.kind, await stored()]).toEqual(['memory', undefined]);
  });

  test.each<readonly [what: string, theirs: object]>([
    ['a later act of another tab', { ...loggedIn(4, 7), actAt: START + 6_000 }],
    ['the same act, written by another tab', { ...loggedIn(4, 7), actAt: START + 5_000 }],
    ['the tombstone of an opt-out', { ...loggedIn(4, 7), optedOut: true, actAt: START + 1 }],
  ])('and holds %s: that stays', async (_, theirs) => {
    const store = createDatedStore(NAME, BASE_URL);
    await store.update(put(loggedIn(1)));
    const restore = fail();
    await store.read();
    restore();
    await indexedDbStore(NAME).update(put(theirs));
    store.expectAct(undefined, START + 5_000);
    await store.update(put(loggedOut(2)));
    await settle();
    expect(await stored()).toEqual(theirs);
    expect(store.view()).toMatchObject({ generation: 2 });
  });

  test('rejects nothing if it cannot be erased either', async () => {
    const rejections = watchRejections();
    const store = createDatedStore(NAME, BASE_URL);
    await store.update(put(loggedIn(1)));
    fail();
    await store.update(put(loggedOut(2)));
    await settle();
    expect(store.view()).toMatchObject({ generation: 2 });
    expect(rejections.seen).toEqual([]);
    rejections.stop();
  });
});
