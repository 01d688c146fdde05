/** The store that dates acts, for the drop-in: times of acts, another operator, and memory in place of a failed database. */

import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createDatedStore } from '../../src/session/dated-store.ts';
import { indexedDbStore } from '../../src/session/index.ts';
import { START, useFakeClock } from '../support/fixtures.ts';
import { BASE_URL, recordOf, restoreGlobals } from './fixtures.ts';

const NAME = 'watched';
const put = (value: object) => () => value;
const loggedIn = (generation: number, n = 1) => ({ ...recordOf(n, START), generation });

beforeEach(() => {
  useFakeClock();
  vi.stubGlobal('indexedDB', new IDBFactory());
});
afterEach(restoreGlobals);

test('nothing stored is null', async () => {
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

test('the memory that replaces a database that failed keeps the time, and a late answer of the database changes nothing', async () => {
  const store = createDatedStore(NAME, BASE_URL);
  await store.update(put(loggedIn(1)));
  const late = store.update(put(loggedIn(2, 5)));
  const memory = store.spare!({ ...loggedIn(1) });
  vi.setSystemTime(START + 5_000);
  await memory.update(put(loggedIn(1, 2)));
  await late;
  expect(store.view()).toMatchObject({ actAt: START, set: { advertisingToken: 'advertising-2' } });
  await memory.update(put(loggedIn(2, 3)));
  expect(store.view()).toMatchObject({ actAt: START + 5_000, set: { advertisingToken: 'advertising-3' } });
});

test('a database that failed is read unchanged: another tab may have logged out there', async () => {
  const store = createDatedStore(NAME, BASE_URL);
  await store.update(put(loggedIn(1)));
  const memory = store.spare!({ ...loggedIn(1) });
  await memory.update(put(loggedIn(1, 2)));
  await indexedDbStore(NAME).update(put({ ...loggedIn(2), set: undefined, clearedAt: START }));
  expect(await store.read()).toMatchObject({ generation: 2, clearedAt: START });
  expect(store.view()).toMatchObject({ generation: 1 });
});

test('memory in place of a database that was never read is older than every act', async () => {
  const memory = createDatedStore(NAME, BASE_URL);
  await memory.spare!({ generation: 0, baseUrl: BASE_URL }).read();
  expect(memory.view()).toMatchObject({ actAt: 0 });
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
  await store.update(put(loggedOut(4)));
  expect(store.view()?.actAt).toBeGreaterThan(announced);
});
