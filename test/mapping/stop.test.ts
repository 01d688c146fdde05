/** What goes on after a job has been stopped: nothing. */

import { expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import type { Database, Queries } from '../../src/database/index.ts';
import type { Dii } from '../../src/server/index.ts';
import { freshPlace, KINDS } from '../database/places.ts';
import { fixture, people, service } from './fixtures.ts';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A database that calls `onQuery` before each query. */
const watched = async (place: string, onQuery: (sql: string) => unknown): Promise<Database> => {
  const database = await openDatabase(place, { connections: 6 });
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

test.each(KINDS)('a failed job reads no further item of its source and reports none (%s)', async (kind) => {
  const { mappings, service: its } = await fixture(kind);
  its.fault = () => new Response('no', { status: 500 });
  let proceed = () => {};
  const failed = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  let read = 0;
  let close = () => {};
  const closed = new Promise<void>((resolve) => {
    close = resolve;
  });
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
  let waits = () => {};
  const waiting = new Promise<void>((resolve) => {
    waits = resolve;
  });
  const database = await watched(place, (sql) => {
    if (sql.startsWith('SELECT 1 FROM tessera_mappings')) waits();
  });
  const mappings = await its.open(database);
  its.fault = () => new Response('no', { status: 500 });
  await expect(mappings.map(people(3))).rejects.toMatchObject({ status: 500 });
  its.fault = undefined;

  const other = await openDatabase(place);
  onTestFinished(() => other.close());
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let lock = () => {};
  const locked = new Promise<void>((resolve) => {
    lock = resolve;
  });
  const claim = other.transaction(async (queries) => {
    await queries.query('SELECT 1 FROM tessera_mappings FOR UPDATE');
    lock();
    await released;
  });
  await locked;
  const stop = new AbortController();
  const reason = new Error('enough');
  const job = mappings.mapDue({ signal: stop.signal });
  await waiting;
  stop.abort(reason);
  await expect(job).rejects.toBe(reason);
  await mappings.close();
  await database.close();
  release();
  await claim;
}, 60_000);

test('a job maps the rows that another process has claimed and released', async () => {
  const { mappings, service: its, place } = await fixture('postgres');
  its.fault = () => new Response('no', { status: 500 });
  await expect(mappings.map(people(3))).rejects.toMatchObject({ status: 500 });
  its.fault = undefined;
  const other = await openDatabase(place);
  onTestFinished(() => other.close());
  let lock = (_: unknown) => {};
  const locked = new Promise((resolve) => {
    lock = resolve;
  });
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const claim = other.transaction(async (queries) => {
    lock(await queries.query('SELECT 1 FROM tessera_mappings FOR UPDATE'));
    await released;
  });
  await locked;
  const job = mappings.mapDue();
  release();
  await claim;
  expect(await job).toMatchObject({ mapped: 3 });
});

test('a check of opt-outs that fails has ended its write before it rejects', async () => {
  const its = service();
  let isRefused = false;
  let isWritten = false;
  const database = await watched(await freshPlace('postgres'), async (sql) => {
    if (!sql.includes("SET state = 'optedOut'")) return;
    await vi.waitUntil(() => isRefused, { timeout: 30_000 });
    for (let turns = 0; turns < 100; turns++) await turn();
    isWritten = true;
  });
  const mappings = await its.open(database);
  const diis = people(10_000);
  await mappings.map(diis);
  // In both pages, whichever order the hashes have.
  for (const dii of diis.slice(0, 40)) await its.client.optOut(dii);
  let requests = 0;
  its.fault = () => {
    if (++requests === 1) return undefined;
    isRefused = true;
    return new Response('no', { status: 500 });
  };
  await expect(mappings.checkOptOuts()).rejects.toMatchObject({ status: 500 });
  expect(isWritten).toBe(true);
});
