/** The watched store of the drop-in's session: times of acts, another operator, and memory in place of a failed database. */

import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRecordStore } from '../../../src/page/uid2/record.ts';
import { indexedDbStore } from '../../../src/session/index.ts';
import { BASE_URL, recordOf, restoreGlobals } from '../../session/fixtures.ts';
import { START, useFakeClock } from '../../support/fixtures.ts';

const NAME = 'watched';
const put = (value: object) => () => value;
const loggedIn = (generation: number, n = 1) => ({ ...recordOf(n, START), generation });

beforeEach(() => {
  useFakeClock();
  vi.stubGlobal('indexedDB', new IDBFactory());
});
afterEach(restoreGlobals);

test('nothing stored is null', async () => {
  const store = createRecordStore(NAME, BASE_URL);
  expect(await store.read()).toBeUndefined();
  expect(store.view()).toBeNull();
});

test('a new generation is an act of now; a change of the same generation keeps its time', async () => {
  const store = createRecordStore(NAME, BASE_URL);
  await store.update(put(loggedIn(1)));
  expect(store.view()).toMatchObject({ actAt: START, isCleared: false, isOptedOut: false });
  vi.setSystemTime(START + 5_000);
  await store.update(put(loggedIn(1, 2)));
  expect(store.view()).toMatchObject({ actAt: START, set: { advertisingToken: 'advertising-2' } });
  await store.update(put({ v: 1, generation: 2, baseUrl: BASE_URL, offsetMs: 0, clearedAt: START + 5_000 }));
  expect(store.view()).toEqual({ actAt: START + 5_000, set: undefined, isCleared: true, isOptedOut: false });
});

test('acts stay in order if the clock is set back', async () => {
  const store = createRecordStore(NAME, BASE_URL);
  await store.update(put(loggedIn(1)));
  vi.setSystemTime(START - 60_000);
  await store.update(put(loggedIn(2)));
  expect(store.view()?.actAt).toBe(START + 1);
});

test('a set from elsewhere has the time of its own login', async () => {
  const store = createRecordStore(NAME, BASE_URL);
  store.expectAct(recordOf(1).set.refreshToken, START - 60_000);
  await store.update(put(loggedIn(1)));
  expect(store.view()?.actAt).toBe(START - 60_000);
});

test('a record of another operator is read as one of this operator', async () => {
  await createRecordStore(NAME, BASE_URL).update(put(loggedIn(1)));
  const store = createRecordStore(NAME, 'https://other.example');
  expect(await store.read()).toMatchObject({ baseUrl: 'https://other.example', generation: 1 });
});

test('a change that returns its argument writes nothing', async () => {
  await createRecordStore(NAME, BASE_URL).update(put(loggedIn(1)));
  await createRecordStore(NAME, 'https://other.example').update((stored) => stored);
  expect(await indexedDbStore(NAME).read()).toMatchObject({ baseUrl: BASE_URL });
});

test('a database that hangs gives way to memory, and a late answer of it changes nothing', async () => {
  const store = createRecordStore(NAME, BASE_URL);
  await store.update(put(loggedIn(1)));
  const real = globalThis.indexedDB;
  store.close!();
  vi.stubGlobal('indexedDB', { open: () => ({}) });
  const update = store.update(put(loggedIn(2, 5)));
  await vi.advanceTimersByTimeAsync(1_000);
  await update;
  expect([store.isDatabaseLost(), store.view()?.set?.advertisingToken]).toEqual([true, 'advertising-5']);
  vi.stubGlobal('indexedDB', real);
  expect(await indexedDbStore(NAME).read()).toMatchObject({ generation: 1 });
});

test('without IndexedDB the record lives in memory', async () => {
  Reflect.deleteProperty(globalThis, 'indexedDB');
  const store = createRecordStore(NAME, BASE_URL);
  await store.update(put(loggedIn(1)));
  expect([store.kind, await store.read()]).toEqual(['memory', expect.objectContaining({ generation: 1 })]);
});
