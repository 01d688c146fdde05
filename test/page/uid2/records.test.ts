/** The store of the drop-in: a record together with the places, another operator, and memory in place of a failed database. */

import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Candidate, candidateOf } from '../../../src/page/uid2/precedence.ts';
import { createRecords } from '../../../src/page/uid2/records.ts';
import { indexedDbStore } from '../../../src/session/index.ts';
import { emptyRecord } from '../../../src/session/rules/record.ts';
import { BASE_URL, recordOf, restoreGlobals, watchRejections, wireSet } from '../../session/fixtures.ts';
import { START, useFakeClock } from '../../support/clock.ts';

const NAME = 'watched';
const OTHER = 'https://other.example';
const put = (value: object) => () => value;
const loggedIn = (n: number, at = START) => recordOf(n, at);
const loggedOut = (at = Date.now()) => ({ ...emptyRecord(BASE_URL), generation: 2, changedAt: at });
const stored = () => indexedDbStore(NAME).read();
const open = (newest?: Candidate, baseUrl = BASE_URL) => createRecords(NAME, baseUrl, () => newest);

beforeEach(() => {
  useFakeClock();
  vi.stubGlobal('indexedDB', new IDBFactory());
});
afterEach(restoreGlobals);

test('nothing stored is an empty record', async () => {
  const store = open();
  expect(await store.read()).toEqual(emptyRecord(BASE_URL));
  expect(store.view()).toEqual(emptyRecord(BASE_URL));
  expect(await stored()).toBeUndefined();
});

test('a later copy in the places is read as the record, and stored', async () => {
  await open().update(put(loggedIn(1)));
  const store = open(candidateOf({ ...wireSet(5), tessera: START + 1 }));
  const follows = { generation: 2, changedAt: START + 1, set: { advertisingToken: 'advertising-5' } };
  expect(await store.read()).toMatchObject(follows);
  expect([store.view(), await stored()]).toMatchObject([follows, follows]);
});

test('a change is applied to the later copy', async () => {
  await open().update(put(loggedIn(1)));
  const change = vi.fn((record: unknown) => record);
  await open(candidateOf({ status: 'logout', tessera: START + 1 })).update(change);
  const [[seen]] = change.mock.calls as [[object]];
  expect(seen).toMatchObject({ generation: 2, changedAt: START + 1 });
  expect(seen).not.toHaveProperty('set');
});

test('changes stay in order if the clock is set back', async () => {
  const store = open();
  await store.update(put(loggedIn(1)));
  vi.setSystemTime(START - 60_000);
  await store.update(put(loggedOut()));
  expect(store.view()).toMatchObject({ generation: 2, changedAt: START + 1 });
  await store.update((record) => ({ ...(record as object), offsetMs: 7_000 }));
  expect(store.view()).toMatchObject({ generation: 2, changedAt: START + 1, offsetMs: 7_000 });
});

test('a record of another operator is read as one of this operator, which has not been asked yet', async () => {
  const retry = { attempts: 4, refusals: 4, countedAt: START, waitUntil: START, reason: 'refused', soonestAt: 0 };
  await open().update(put({ ...loggedIn(1), ended: true, retry }));
  const read = await open(undefined, OTHER).read();
  expect(read).toMatchObject({ baseUrl: OTHER, generation: 1, ended: undefined, retry: undefined });
  expect(await open().read()).toMatchObject({ ended: true, retry });
});

test('a change that returns its argument writes nothing', async () => {
  await open().update(put(loggedIn(1)));
  await open(undefined, OTHER).update((record) => record);
  expect(await stored()).toMatchObject({ baseUrl: BASE_URL });
});

test('without IndexedDB the record lives in memory', async () => {
  Reflect.deleteProperty(globalThis, 'indexedDB');
  const store = open();
  await store.update(put(loggedIn(1)));
  expect([store.kind, await store.read()]).toEqual(['memory', expect.objectContaining({ generation: 1 })]);
});

test('a database that works is used once for each change', async () => {
  const store = open();
  await store.read();
  const transaction = vi.spyOn(IDBDatabase.prototype, 'transaction');
  await store.update(put(loggedIn(1)));
  await store.update(put(loggedIn(2)));
  expect(transaction).toHaveBeenCalledTimes(2);
});

describe('a database that fails', () => {
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

  test('is replaced by memory, which starts from what is known', async () => {
    const store = open();
    await store.update(put(loggedIn(1)));
    expect(store.kind).toBe('indexeddb');
    fail();
    expect(await store.read()).toMatchObject({ set: { advertisingToken: 'advertising-1' } });
    expect(store.kind).toBe('memory');
    await store.update(put(loggedIn(2)));
    expect(store.view()).toMatchObject({ set: { advertisingToken: 'advertising-2' } });
    expect(await store.read()).toEqual(store.view());
  });

  test('at an update: the change is applied to what is known', async () => {
    const store = open();
    await store.update(put(loggedIn(1)));
    fail();
    const change = vi.fn(put(loggedOut()));
    await store.update(change);
    expect(change.mock.calls).toEqual([[expect.objectContaining({ generation: 1, baseUrl: BASE_URL })]]);
    expect(store.view()).toMatchObject({ generation: 2 });
  });

  test('because it takes longer than a second, less than the session waits: its late answer changes nothing', async () => {
    await open().update(put(loggedIn(1)));
    const before = await stored();
    const release = delayOpening();
    const store = open();
    const change = vi.fn(put(loggedIn(2)));
    const updated = store.update(change);
    await vi.advanceTimersByTimeAsync(999);
    expect([store.kind, change.mock.calls]).toEqual(['indexeddb', []]);
    await vi.advanceTimersByTimeAsync(1);
    await updated;
    expect([store.kind, change.mock.calls]).toEqual(['memory', [[emptyRecord(BASE_URL)]]]);
    release();
    await settle();
    expect(change).toHaveBeenCalledOnce();
    expect(store.view()).toMatchObject({ set: { advertisingToken: 'advertising-2' } });
    expect(await stored()).toEqual(before);
  });

  test.each<readonly [what: string, change: () => object]>([
    ['a logout', () => loggedOut()],
    ['another user', () => loggedIn(5, Date.now())],
  ])('is erased once it works again, at %s, so that the next page does not find the former user', async (_, change) => {
    const store = open();
    await store.update(put(loggedIn(1)));
    const restore = fail();
    await store.read();
    vi.setSystemTime(START + 5_000);
    await store.update(put(loggedIn(2)));
    restore();
    await settle();
    expect(await stored()).toMatchObject({ set: { advertisingToken: 'advertising-1' } });
    await store.update(put(change()));
    await settle();
    expect([store.kind, await stored()]).toEqual(['memory', undefined]);
  });

  test.each<readonly [what: string, theirs: object]>([
    ['a later change of another tab', { ...loggedIn(7), changedAt: START + 6_000 }],
    ['the same change, written by another tab', { ...loggedIn(7), changedAt: START + 5_000 }],
    ['the tombstone of an opt-out', { ...loggedIn(7), optedOut: true }],
  ])('and holds %s: that stays', async (_, theirs) => {
    const store = open();
    await store.update(put(loggedIn(1)));
    const restore = fail();
    await store.read();
    restore();
    await indexedDbStore(NAME).update(put(theirs));
    await store.update(put(loggedOut(START + 5_000)));
    await settle();
    expect(await stored()).toEqual(theirs);
    expect(store.view()).toMatchObject({ generation: 2 });
  });

  test('rejects nothing if it cannot be erased either', async () => {
    const rejections = watchRejections();
    const store = open();
    await store.update(put(loggedIn(1)));
    fail();
    await store.update(put(loggedOut()));
    await settle();
    expect(store.view()).toMatchObject({ generation: 2 });
    expect(rejections.seen).toEqual([]);
    rejections.stop();
  });
});
