/** What goes on after a job has been stopped: nothing. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Database, Queries } from '../../src/database/index.ts';
import { createStop } from '../../src/mapping/jobs/job-stop.ts';
import type { Dii } from '../../src/server/index.ts';
import { TokenError } from '../../src/token/index.ts';
import { freshPlace, KINDS, openPlace, type Place } from '../database/locations.ts';
import { DAY, fixture, type MappingClient, maxRequests, people, service } from './fixtures.ts';

/** Lock all rows in another process. `release` ends its transaction. */
const lockRows = async (place: Place) => {
  const other = await openPlace(place);
  onTestFinished(() => other.close());
  let lock = (_: unknown) => {};
  const locked = new Promise((resolve) => (lock = resolve));
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const locking = other.transaction(async (queries) => {
    lock(await queries.query('SELECT 1 FROM tessera_mappings FOR UPDATE'));
    await released;
  });
  await locked;
  return async () => {
    release();
    await locking;
  };
};

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A database that calls `onQuery` before each query. */
const watched = async (place: Place, onQuery: (sql: string) => unknown): Promise<Database> => {
  const database = await openPlace(place, { connections: 6 });
  onTestFinished(() => database.close());
  const watch = <Q extends Queries>(queries: Q): Q => ({
    ...queries,
    query: async (sql, params) => {
      await onQuery(sql);
      return queries.query(sql, params);
    },
  });
  return {
    ...watch(database),
    transaction: (work, options) => database.transaction((queries) => work(watch(queries)), options),
  };
};

/** A database, and a promise that resolves before the first query that contains `text`. */
const watchedFor = async (place: Place, text: string) => {
  let reach = () => {};
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const database = await watched(place, (sql) => {
    if (sql.includes(text)) reach();
  });
  return { database, reached };
};

test.each(KINDS)('a failed job reads no further item of its source and reports none (%s)', async (kind) => {
  const { mappings, service: its } = await fixture(kind);
  its.fault = () => new Response('no', { status: 500 });
  let proceed = () => {};
  const failed = new Promise<void>((resolve) => (proceed = resolve));
  let read = 0;
  let close = () => {};
  const closed = new Promise<void>((resolve) => (close = resolve));
  async function* source(): AsyncGenerator<Dii> {
    try {
      yield* people(5_000);
      await failed;
      for (; read < 3; read++) yield { email: 'nobody' };
    } finally {
      close();
    }
  }
  const told: unknown[] = [];
  await expect(mappings.map(source(), { onInvalid: (found) => void told.push(found) })).rejects.toMatchObject({
    status: 500,
  });
  proceed();
  await closed;
  expect(told).toEqual([]);
  expect(read).toBeLessThanOrEqual(1);
});

test('a job that waits for the rows of another process ends when it is stopped, and so does close()', async () => {
  const place = await freshPlace('postgres');
  const its = service();
  const { database, reached } = await watchedFor(place, 'SELECT 1 FROM tessera_mappings');
  const mappings = await its.open(database);
  await mappings.map(people(3));
  its.at += 31 * DAY;
  const release = await lockRows(place);
  const stop = new AbortController();
  const reason = new Error('enough');
  const job = mappings.mapDue({ signal: stop.signal });
  await reached;
  stop.abort(reason);
  await expect(job).rejects.toBe(reason);
  await mappings.close();
  await database.close();
  await release();
});

test('a source with rows that another process has locked does not delay close()', async () => {
  const place = await freshPlace('postgres');
  const its = service();
  const { database, reached } = await watchedFor(place, 'FOR UPDATE OF m');
  const mappings = await its.open(database);
  await mappings.map(people(3));
  its.at += 31 * DAY;
  const release = await lockRows(place);
  const job = mappings.map(people(3)).catch((error: unknown) => error);
  await reached;
  await mappings.close();
  expect(await job).toMatchObject({ code: 'closed' });
  await database.close();
  await release();
});

test('a job maps the due rows of its source that another process has locked and left unchanged', async () => {
  const place = await freshPlace('postgres');
  const its = service();
  let attempts = 0;
  const database = await watched(place, (sql) => {
    if (sql.includes('FOR UPDATE OF m')) attempts++;
  });
  const mappings = await its.open(database);
  await mappings.map(people(3));
  its.at += 31 * DAY;
  const release = await lockRows(place);
  const job = mappings.map(people(5));
  await vi.waitUntil(() => attempts > 1, { timeout: 30_000 });
  await release();
  expect(await job).toEqual({ read: 5, kept: 0, mapped: 5, optedOut: 0, invalid: 0 });
});

test('a due run maps the rows that another process has locked and left unchanged', async () => {
  const { mappings, service: its, place } = await fixture('postgres');
  await mappings.map(people(3));
  its.at += 31 * DAY;
  const release = await lockRows(place);
  const job = mappings.mapDue();
  await release();
  expect(await job).toMatchObject({ mapped: 3 });
});

test('a check of opt-outs waits for rows that another process has locked, unless it is closed', async () => {
  const place = await freshPlace('postgres');
  const its = service();
  let attempts = 0;
  const database = await watched(place, (sql) => {
    if (sql.includes("SET state = 'optedOut'")) attempts++;
  });
  const mappings = await its.open(database);
  await mappings.map(people(3));
  await its.client.optOut(people(1)[0]!);
  const release = await lockRows(place);
  const job = mappings.checkOptOuts();
  await vi.waitUntil(() => attempts > 1, { timeout: 30_000 });
  await release();
  expect(await job).toMatchObject({ read: 3, optedOut: 1 });

  await its.client.optOut(people(2)[1]!);
  const releaseAgain = await lockRows(place);
  attempts = 0;
  const closed = mappings.checkOptOuts().catch((error: unknown) => error);
  await vi.waitUntil(() => attempts > 0, { timeout: 30_000 });
  await mappings.close();
  expect(await closed).toMatchObject({ code: 'closed' });
  await database.close();
  await releaseAgain();
});

test('a job that fails has ended its other transactions before it rejects', async () => {
  const its = service();
  let isWriting = false;
  let isRefused = false;
  let isWritten = false;
  const place = await freshPlace('postgres');
  const other = await openPlace(place);
  onTestFinished(() => other.close());
  const database = await watched(place, async (sql) => {
    if (!sql.includes('INSERT INTO tessera_mappings ')) return;
    isWriting = true;
    await vi.waitUntil(() => isRefused, { timeout: 30_000 });
    for (let trips = 0; trips < 200; trips++) await other.query('SELECT 1');
    isWritten = true;
  });
  const mappings = await its.open(database, { workers: 2 });
  let requests = 0;
  its.fault = async () => {
    if (++requests === 1) return undefined;
    await vi.waitUntil(() => isWriting, { timeout: 30_000 });
    isRefused = true;
    return new Response('no', { status: 500 });
  };
  await expect(mappings.map(people(10_000))).rejects.toMatchObject({ status: 500 });
  expect(isWritten).toBe(true);
  expect(await mappings.counts()).toMatchObject({ mapped: 5_000 });
});

test('the rows that a failed job has rewritten count for the next VACUUM of a folder', async () => {
  const its = service();
  let vacuums = 0;
  const database = await watched(await freshPlace('pglite'), (sql) => {
    if (sql.startsWith('VACUUM')) vacuums++;
  });
  const mappings = await its.open(database);
  await mappings.map(people(5_001));
  its.at += 31 * DAY;
  // The second request, with one hash; it may arrive before the first.
  its.fault = async (request) =>
    (await request.clone().arrayBuffer()).byteLength < 1_000 ? new Response('no', { status: 500 }) : undefined;
  await expect(mappings.mapDue()).rejects.toMatchObject({ status: 500 });
  its.fault = undefined;
  expect(await mappings.counts()).toMatchObject({ mapped: 5_001, due: 1 });
  expect(vacuums).toBe(0);
  expect(await mappings.mapDue()).toMatchObject({ mapped: 1 });
  expect(vacuums).toBe(1);
  expect(await mappings.mapDue()).toMatchObject({ mapped: 0 });
  expect(vacuums).toBe(1);
});

test('the rows whose raw ID a check of opt-outs has removed count for the next VACUUM of a folder', async () => {
  const its = service();
  let vacuums = 0;
  const database = await watched(await freshPlace('pglite'), (sql) => {
    if (sql.startsWith('VACUUM')) vacuums++;
  });
  const optOutStatus = (rawIds: readonly string[]) => ({
    toArray: async () => rawIds.map((rawId) => ({ rawId, optedOutAt: its.at, answeredAt: its.at })),
  });
  const mappings = await its.open(database, { client: { ...its.client, optOutStatus } as unknown as MappingClient });
  await mappings.map(people(3_000));
  expect(await mappings.checkOptOuts()).toMatchObject({ optedOut: 3_000 });
  expect(vacuums).toBe(0);
  await mappings.mapDue();
  expect(vacuums).toBe(1);
});

test.each(['the request', 'the write'])(
  'if %s of a batch fails, its rows are not requested again by a worker that locks them before the job knows of the failure',
  async (failing) => {
    const its = service();
    const place = await freshPlace('postgres');
    const database = await openPlace(place, { connections: 6 });
    onTestFinished(() => database.close());
    const until = (condition: () => boolean) => vi.waitUntil(condition, { timeout: 30_000 });
    let state: 'idle' | 'first locked' | 'second waits' | 'first ended' | 'second locked' = 'idle';
    let locks = 0;
    const isLock = (sql: string) => sql.startsWith('SELECT type, hash') && sql.includes('FOR UPDATE OF m SKIP LOCKED');
    const mappings = await its.open(
      {
        ...database,
        transaction: async (work, options) => {
          let isFirst = false;
          const query: Queries['query'] = async (sql, params) => {
            if (isLock(sql) && ++locks > 1) await until(() => state !== 'idle');
            const isSecond = isLock(sql) && state === 'first locked';
            if (isSecond) {
              state = 'second waits';
              await until(() => state === 'first ended');
            }
            if (isFirst && sql.startsWith('UPDATE tessera_mappings')) {
              await until(() => state !== 'first locked');
              throw new TokenError('storage_failed', 'no space');
            }
            const rows = await queriesOf.query<never>(sql, params);
            isFirst ||= isLock(sql) && state === 'idle' && rows.length > 0;
            if (isFirst && state === 'idle') state = 'first locked';
            if (isSecond && rows.length > 0) state = 'second locked';
            return rows;
          };
          let queriesOf!: Queries;
          try {
            return await database.transaction((queries) => {
              queriesOf = queries;
              return work({ ...queries, query });
            }, options);
          } finally {
            if (isFirst) {
              state = 'first ended';
              await until(() => state === 'second locked');
            }
          }
        },
      },
      { workers: 2 },
    );
    await mappings.map(people(10_000));
    its.at += 31 * DAY;
    its.asked.hashes.length = 0;
    if (failing === 'the request')
      its.fault = async () => {
        await until(() => state !== 'first locked');
        return new Response('no', { status: 500 });
      };
    const code = failing === 'the request' ? 'http_status' : 'storage_failed';
    await expect(mappings.mapDue()).rejects.toMatchObject({ code });
    expect(state).toBe('second locked');
    expect(maxRequests(its.asked)).toBe(1);
  },
);

test('a job keeps none of the values that it has waited for', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const stop = createStop(new AbortController().signal);
  const refs: WeakRef<object>[] = [];
  for (let batch = 0; batch < 10; batch++) {
    const found = await stop.orStopped(Promise.resolve({ batch }));
    refs.push(new WeakRef(found!));
  }
  await turn();
  collectGarbage();
  // The last one may still be on the stack.
  expect(refs.filter((ref) => ref.deref()).length).toBeLessThan(2);
  expect(stop.isStopped).toBe(false);
});
