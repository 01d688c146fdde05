/** The store of the drop-in: a record together with the places, and the record of another operator. */

import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Candidate, candidateOf } from '../../../src/page/uid2/precedence.ts';
import { createStore } from '../../../src/page/uid2/store.ts';
import { indexedDbStore } from '../../../src/session/index.ts';
import { BASE_URL, recordOf, restoreGlobals, wireSet } from '../../session/fixtures.ts';
import { START, useFakeClock } from '../../support/clock.ts';

const NAME = 'watched';
const OTHER = 'https://other.example';
const put = (value: object) => () => value;
const loggedIn = (n: number) => recordOf(n, START);
const stored = () => indexedDbStore(NAME).read();
const open = (newest?: Candidate, baseUrl = BASE_URL) => createStore(NAME, baseUrl, () => newest);

beforeEach(() => {
  useFakeClock();
  vi.stubGlobal('indexedDB', new IDBFactory());
});
afterEach(restoreGlobals);

test('nothing stored is read as nothing', async () => {
  expect([await open().read(), await stored()]).toEqual([undefined, undefined]);
});

test('a later copy in the places is read as the record, and stored by the next change', async () => {
  await open().update(put(loggedIn(1)));
  const store = open(candidateOf({ ...wireSet(5), tessera: START + 1 }));
  const follows = { generation: 2, changedAt: START + 1, set: { advertisingToken: 'advertising-5' } };
  expect(await store.read()).toMatchObject(follows);
  expect(await store.update((record) => record)).toMatchObject(follows);
  expect(await stored()).toMatchObject(follows);
});

test('a change is applied to the later copy', async () => {
  await open().update(put(loggedIn(1)));
  const change = vi.fn((record: unknown) => record);
  await open(candidateOf({ status: 'logout', tessera: START + 1 })).update(change);
  const [[seen]] = change.mock.calls as [[object]];
  expect(seen).toMatchObject({ generation: 2, changedAt: START + 1 });
  expect(seen).not.toHaveProperty('set');
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
  const written = vi.spyOn(IDBObjectStore.prototype, 'put');
  await open(candidateOf({ ...wireSet(5), tessera: START - 1 })).update((record) => record);
  expect(written).not.toHaveBeenCalled();
});

test('without IndexedDB the record lives in memory', async () => {
  Reflect.deleteProperty(globalThis, 'indexedDB');
  const store = open();
  await store.update(put(loggedIn(1)));
  expect([store.kind, await store.read()]).toEqual(['memory', expect.objectContaining({ generation: 1 })]);
});
