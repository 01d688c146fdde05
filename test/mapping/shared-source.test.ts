/** Jobs that map the same people at the same time. */

import { expect, onTestFinished, test, vi } from 'vitest';
import type { Database, Queries } from '../../src/database/index.ts';
import { createBatchQueue } from '../../src/mapping/jobs/batch-queue.ts';
import { createStop } from '../../src/mapping/jobs/job-stop.ts';
import type { Batch } from '../../src/mapping/jobs/source-batches.ts';
import { keyOf } from '../../src/mapping/rows/key.ts';
import { inKeyOrder, lockBatch } from '../../src/mapping/rows/source-rows.ts';
import type { Dii } from '../../src/server/index.ts';
import { ANY_KIND, freshPlace, KINDS, openPlace, type Place } from '../database/locations.ts';
import {
  DAY,
  fixture,
  type MappingClient,
  maxRequests,
  NOON,
  people,
  service,
  stored,
  withHeldAnswer,
} from './fixtures.ts';

/** A database that calls `onQuery` before each query of a transaction. */
const watched = async (place: Place, onQuery: (sql: string) => Promise<void>): Promise<Database> => {
  const database = await openPlace(place, { connections: 6 });
  onTestFinished(() => database.close());
  const watch = (queries: Queries): Queries => ({
    ...queries,
    query: async (sql, params) => {
      await onQuery(sql);
      return queries.query(sql, params);
    },
  });
  return {
    ...database,
    transaction: (work, options) => database.transaction((queries) => work(watch(queries)), options),
  };
};

const isInsert = (sql: string): boolean => sql.startsWith('INSERT INTO tessera_mappings ');

test('a batch that another process has locked does not hold up those after it, and is mapped if that process leaves it', async () => {
  const { mappings, place, service: its } = await fixture('postgres', { workers: 1 });
  const other = await openPlace(place);
  onTestFinished(() => other.close());
  const first = inKeyOrder(people(5_000).map((dii) => keyOf(dii)!));
  let read = 0;
  let summary: unknown;
  await other.transaction(async (queries) => {
    expect(await lockBatch(queries, first)).toBe(true);
    const onProgress = (progress: { readonly read: number }) => (read = progress.read);
    summary = mappings.map(people(12_000), { onProgress });
    await vi.waitUntil(() => read === 7_000, { timeout: 30_000 });
    expect(await mappings.find(people(1)[0]!)).toBeUndefined();
  });
  expect(await summary).toEqual({ read: 12_000, kept: 0, mapped: 12_000, optedOut: 0, invalid: 0 });
  expect(maxRequests(its.asked)).toBe(1);
});

test('the batches put aside are bounded, and come back in their order after a second', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const stop = createStop(new AbortController().signal);
  let handedOut = 0;
  async function* source(): AsyncGenerator<Batch, void, undefined> {
    for (; handedOut < 30; handedOut++) yield { read: handedOut, keys: [] };
  }
  const queue = createBatchQueue(source(), stop);
  for (let i = 0; i < 16; i++) queue.putAside((await queue.next())!);
  const before = handedOut;
  const next = queue.next();
  await vi.advanceTimersByTimeAsync(999);
  expect(handedOut).toBe(before);
  await vi.advanceTimersByTimeAsync(1);
  expect((await next)!.read).toBe(0);
  expect((await queue.next())!.read).toBe(1);
  const reads: number[] = [];
  for (let batch = await queue.next(); batch; batch = await queue.next()) reads.push(batch.read);
  expect(reads.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 28 }, (_, i) => i + 2));
});

test('a batch put aside by a job that is stopped does not delay its end', async () => {
  const stop = createStop(new AbortController().signal);
  async function* nothing(): AsyncGenerator<Batch, void, undefined> {}
  const queue = createBatchQueue(nothing(), stop);
  queue.putAside({ read: 0, keys: [] });
  const next = queue.next();
  stop.fail(new Error('enough'));
  expect(await next).toBeUndefined();
});

test.each([
  { other: 'later', offsetMs: 1, expected: NOON + 1 },
  { other: 'earlier', offsetMs: -1, expected: NOON },
])(
  'if another process inserts a row between look-up and write, the later answer counts: $other',
  async ({ offsetMs, expected }) => {
    const its = service();
    const place = await freshPlace('postgres');
    const other = await its.open(place);
    const [shared, ...rest] = people(4) as [{ email: string }, ...{ email: string }[]];
    const smallest = inKeyOrder(people(200, 10).map((dii) => keyOf(dii)!))[0]!;
    let isFirst = true;
    const database = await watched(place, async (sql) => {
      if (!isInsert(sql) || !isFirst) return;
      isFirst = false;
      // Another first key: the lock of the batch does not keep this job out.
      its.at = NOON + offsetMs;
      await other.map([{ emailHash: smallest.hash }, shared]);
    });
    const mappings = await its.open(database);
    expect(await mappings.map([shared, ...rest])).toMatchObject({ read: 4, mapped: 4 });
    expect(isFirst).toBe(false);
    expect(await stored(mappings)).toHaveLength(5);
    expect((await mappings.find(shared))!.answeredAt).toBe(expected);
  },
);

test.each(ANY_KIND)(
  'jobs whose sources hold the same people in other orders end, with one row for each (%s)',
  async (kind) => {
    const { mappings } = await fixture(kind);
    const all = people(12_000);
    const sources = [all, all.toReversed(), [...all.slice(4_321), ...all.slice(0, 4_321)]];
    const summaries = await Promise.all(sources.map((source) => mappings.map(source)));
    for (const { read, kept, mapped } of summaries) expect([read, kept + mapped]).toEqual([12_000, 12_000]);
    expect(await mappings.counts()).toMatchObject({ mapped: 12_000 });
  },
);

test.each(ANY_KIND)('an answer is written while the service works on the next (%s)', async (kind) => {
  const its = service();
  let isWriting = false;
  const database = await watched(await freshPlace(kind), async (sql) => {
    isWriting ||= isInsert(sql);
  });
  const mappings = await its.open(database);
  let requests = 0;
  its.fault = async () => {
    if (++requests > 1) await vi.waitUntil(() => isWriting, { timeout: 30_000 });
    return undefined;
  };
  expect(await mappings.map(people(10_000))).toMatchObject({ mapped: 10_000 });
  expect(requests).toBe(2);
});

test.each(ANY_KIND)('an opt-out that a check finds is not undone by a due run that asked before (%s)', async (kind) => {
  const its = service();
  let attempts = 0;
  const database = await watched(await freshPlace(kind), async (sql) => {
    if (sql.includes("SET state = 'optedOut'")) attempts++;
  });
  const mappings = await its.open(database);
  const [person, ...others] = people(3) as [Dii, ...Dii[]];
  await mappings.map([person, ...others]);
  its.at += 31 * DAY;
  const { client, isAnswered, release } = withHeldAnswer(its.client, 'mapIdentities');
  const due = (await its.open(database, { client })).mapDue();
  await isAnswered;
  its.at += 1;
  await its.client.optOut(person);
  const check = mappings.checkOptOuts();
  await vi.waitUntil(() => attempts > 0, { timeout: 30_000 });
  release();
  expect(await due).toMatchObject({ mapped: 3 });
  expect(await check).toMatchObject({ optedOut: 1 });
  expect(await mappings.find(person)).toMatchObject({ state: 'optedOut', rawId: null });
});

test.each(ANY_KIND)(
  'a check of opt-outs finds a user whose raw ID a due run has replaced since the check read it (%s)',
  async (kind) => {
    const { mappings, service: its, place } = await fixture(kind);
    const [person, ...others] = people(3) as [Dii, ...Dii[]];
    await mappings.map([person, ...others]);
    const { rawId: former } = (await mappings.find(person))!;
    await mappings.close();
    its.at += 400 * DAY;
    const optOutStatus = (rawIds: readonly string[]) => ({
      toArray: async () => {
        await its.open(database).then((running) => running.mapDue());
        its.at += 1;
        return rawIds
          .filter((rawId) => rawId === former)
          .map((rawId) => ({ rawId, optedOutAt: its.at, answeredAt: its.at }));
      },
    });
    const database = await openPlace(place, { connections: 6 });
    onTestFinished(() => database.close());
    const checking = await its.open(database, { client: { ...its.client, optOutStatus } as unknown as MappingClient });
    expect(await checking.checkOptOuts()).toMatchObject({ read: 3, optedOut: 1 });
    expect(await checking.find(person)).toMatchObject({ state: 'optedOut', rawId: null });
    expect(await checking.counts()).toMatchObject({ mapped: 2, optedOut: 1 });
  },
);

test('a check of opt-outs keeps the raw ID of a user who has opted in again since', async () => {
  const { mappings, service: its, place } = await fixture('pglite');
  const [person] = people(1) as [Dii];
  await mappings.map([person]);
  await mappings.close();
  its.at += 400 * DAY;
  const optOutStatus = (rawIds: readonly string[]) => ({
    toArray: async () => {
      const answeredAt = its.at;
      its.at += 1;
      await its.open(database).then((running) => running.mapDue());
      return rawIds.map((rawId) => ({ rawId, optedOutAt: answeredAt, answeredAt }));
    },
  });
  const database = await openPlace(place, { connections: 6 });
  onTestFinished(() => database.close());
  const checking = await its.open(database, { client: { ...its.client, optOutStatus } as unknown as MappingClient });
  expect(await checking.checkOptOuts()).toMatchObject({ read: 1, optedOut: 0 });
  expect(await checking.find(person)).toMatchObject({ state: 'mapped', answeredAt: its.at });
});

test.each(ANY_KIND)('rows that are forgotten during a due run stay deleted (%s)', async (kind) => {
  const its = service();
  const place = await freshPlace(kind);
  const database = await openPlace(place, { connections: 6 });
  onTestFinished(() => database.close());
  const mappings = await its.open(database);
  await mappings.map(people(3));
  its.at += 31 * DAY;
  const { client, isAnswered, release } = withHeldAnswer(its.client, 'mapIdentities');
  const due = (await its.open(database, { client })).mapDue();
  await isAnswered;
  const forgotten = mappings.forgetAll();
  if (kind === 'pglite') await forgotten;
  release();
  expect(await due).toMatchObject({ mapped: 3 });
  expect(await forgotten).toBe(3);
  expect(await stored(mappings)).toEqual([]);
});

test.each(ANY_KIND)('a person who needs no request does not wait for others in the same batch (%s)', async (kind) => {
  const its = service();
  const database = await openPlace(await freshPlace(kind), { connections: 6 });
  onTestFinished(() => database.close());
  const mappings = await its.open(database);
  await mappings.map(people(20));
  const { client, isAnswered, release } = withHeldAnswer(its.client, 'mapIdentities');
  const other = (await its.open(database, { client })).map(people(21));
  await isAnswered;
  expect(await mappings.map(people(1))).toMatchObject({ kept: 1 });
  release();
  expect(await other).toMatchObject({ kept: 20, mapped: 1 });
});

test.each(KINDS)('two jobs whose batches are all in flight leave a connection for other calls (%s)', async (kind) => {
  const its = service();
  const { client, isAnswered, release } = withHeldAnswer(its.client, 'mapIdentities');
  const mappings = await its.open(await freshPlace(kind), { client, workers: 1 });
  const jobs = Promise.all([mappings.map(people(2)), mappings.map(people(2, 2))]);
  await isAnswered;
  expect(await mappings.find(people(1)[0]!)).toBeUndefined();
  release();
  expect(await jobs).toMatchObject([{ mapped: 2 }, { mapped: 2 }]);
});

test('a job that waits for the batch of another one can be cancelled', async () => {
  const its = service();
  const { client, isAnswered, release } = withHeldAnswer(its.client, 'mapIdentities');
  const mappings = await its.open(await freshPlace('postgres'), { client, workers: 1 });
  const first = mappings.map(people(2));
  await isAnswered;
  const cancel = new AbortController();
  const second = mappings.map(people(2, 2), { signal: cancel.signal });
  cancel.abort(new Error('enough'));
  await expect(second).rejects.toThrow('enough');
  release();
  expect(await first).toMatchObject({ mapped: 2 });
  // The slot that it waited for is free again.
  expect(await mappings.map(people(2, 4))).toMatchObject({ mapped: 2 });
});

test.each(KINDS)('mappings can be read while a job waits for the service (%s)', async (kind) => {
  const { mappings, service: its } = await fixture(kind);
  const [stayed] = people(1) as [Dii];
  await mappings.map([stayed]);
  its.at += 31 * DAY;
  let found: unknown;
  its.fault = async () => {
    its.fault = undefined;
    found = await mappings.find(stayed);
    return undefined;
  };
  expect(await mappings.map([...people(3, 5), stayed])).toMatchObject({ mapped: 4 });
  expect(found).toMatchObject({ state: 'mapped', answeredAt: NOON });
});
