/** The store of the drop-in: a record of another operator, and what the places add to the record. */

import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Candidate, candidateOf, withNewest } from '../../../src/page/uid2/precedence.ts';
import { createStore } from '../../../src/page/uid2/store.ts';
import { indexedDbStore } from '../../../src/session/index.ts';
import { createShownRecord } from '../../../src/session/record/shown-record.ts';
import { BASE_URL, recordOf, restoreGlobals, wireSet } from '../../session/fixtures.ts';
import { START, useFakeClock } from '../../support/clock.ts';

const NAME = 'watched';
const OTHER = 'https://other.example';
const stored = () => indexedDbStore(NAME).read();

beforeEach(async () => {
  useFakeClock();
  vi.stubGlobal('indexedDB', new IDBFactory());
});
afterEach(restoreGlobals);

const open = (newest?: Candidate) =>
  createShownRecord(BASE_URL, createStore(NAME, BASE_URL), {
    mayWrite: () => true,
    onRecord: () => {},
    follow: () => {},
    onResumed: () => {},
    onFailure: () => {},
    now: Date.now,
    adopt: (record) => withNewest(record, newest),
  });

test('a later copy in the places is read as the record, and stored', async () => {
  await createStore(NAME, BASE_URL).update(() => recordOf(1));
  const records = open(candidateOf({ ...wireSet(5), tessera: START + 1 }));
  await records.read();
  const follows = { generation: 2, changedAt: START + 1, set: { advertisingToken: 'advertising-5' } };
  expect([records.latest(), await stored()]).toMatchObject([follows, follows]);
});

test('a change is applied to the later copy', async () => {
  await createStore(NAME, BASE_URL).update(() => recordOf(1));
  const records = open(candidateOf({ status: 'logout', tessera: START + 1 }));
  const { before } = await records.update((record) => ({ ...record, offsetMs: 7_000 }));
  expect(before).toMatchObject({ generation: 2, changedAt: START + 1 });
  expect(before).not.toHaveProperty('set');
});

test('a record of another operator is read as one of this operator, which has not been asked yet', async () => {
  const retry = { attempts: 4, refusals: 4, countedAt: START, waitUntil: START, reason: 'refused', soonestAt: 0 };
  const record = { ...recordOf(1), ended: true, retry };
  await createStore(NAME, BASE_URL).update(() => record);
  let seen: unknown;
  await createStore(NAME, OTHER).update((before) => {
    seen = before;
    return before;
  });
  expect(seen).toMatchObject({ baseUrl: OTHER, generation: 1, ended: undefined, retry: undefined });
  expect(await stored()).toEqual(record);
});
