/** How stored mappings are read: page by page through the index. */

import { expect, onTestFinished, test } from 'vitest';
import { type Database, migrate, type Queries } from '../../src/database/index.ts';
import { TABLES } from '../../src/mapping/rows/tables.ts';
import { freshPlace, type Kind, openPlace } from '../database/locations.ts';
import { people, service } from './fixtures.ts';

/** A database that reports each page query to `onPage` before it runs. */
const watched = async (kind: Kind, onPage: (sql: string, params: unknown[], queries: Queries) => Promise<void>) => {
  const database = await openPlace(await freshPlace(kind), { connections: 6 });
  onTestFinished(() => database.close());
  const watch = <Q extends Queries>(queries: Q): Q => ({
    ...queries,
    query: async (sql, params) => {
      if (sql.includes('(hash, type) > ($1, $2)')) await onPage(sql, params as unknown[], queries);
      return queries.query(sql, params);
    },
  });
  const wrapped: Database = {
    ...watch(database),
    transaction: (work, options) => database.transaction((queries) => work(watch(queries)), options),
  };
  return wrapped;
};

test.each<Kind>(['pglite', 'postgres'])(
  'on %s a page is found through the primary key, without a sort',
  async (kind) => {
    const plans: string[] = [];
    const its = service();
    const database = await watched(kind, async (sql, params, queries) => {
      const lines = await queries.query<Record<string, string>>(`EXPLAIN ${sql}`, params as never);
      plans.push(lines.map((line) => line['QUERY PLAN']).join('\n'));
    });
    const mappings = await its.open(database);
    await mappings.map(people(20));
    for await (const _ of mappings.entries()) break;
    await mappings.checkOptOuts();
    expect(plans.length).toBeGreaterThanOrEqual(2);
    for (const plan of plans) {
      expect(plan).toContain('Index Scan using tessera_mappings_pkey');
      expect(plan).not.toMatch(/Seq Scan|Sort|Bitmap/);
    }
  },
);

test('a check of opt-outs sends one request at a time, and reads each page once', async () => {
  let pages = 0;
  const its = service();
  const database = await watched('postgres', async () => void pages++);
  const mappings = await its.open(database);
  const diis = people(5_010);
  await mappings.map(diis);
  await its.client.optOut(diis[7]!);
  await its.client.optOut(diis[5_003]!);
  let inFlight = 0;
  let most = 0;
  its.fault = async () => {
    most = Math.max(most, ++inFlight);
    await new Promise((resolve) => setImmediate(resolve));
    inFlight--;
    // The operator answers.
    return undefined as unknown as Response;
  };
  pages = 0;
  expect(await mappings.checkOptOuts()).toMatchObject({ read: 5_010, optedOut: 2 });
  expect([most, pages]).toEqual([1, 2]);
  its.fault = undefined;
  expect(await mappings.counts()).toMatchObject({ mapped: 5_008, optedOut: 2 });
});

test.each<Kind>(['pglite', 'postgres'])(
  'on %s tables of version 1 are updated, and keep their mappings',
  async (kind) => {
    const database = await openPlace(await freshPlace(kind));
    onTestFinished(() => database.close());
    await migrate(database, { ...TABLES, steps: TABLES.steps.slice(0, 1) });
    const hashes = ['c', 'a', 'b', 'd'].map((letter) => Buffer.alloc(32, letter).toString('base64'));
    // The job that has requested the second row again, and stored the fourth, was killed.
    const rows = [
      ['email', 'mapped', 'raw-1', null],
      ['phone', 'mapped', 'raw-2', 0],
      ['email', 'mapped', 'raw-3', null],
      ['email', 'pending', null, 0],
    ] as const;
    for (const [index, [type, state, rawId, dueAt]] of rows.entries())
      await database.query(
        'INSERT INTO tessera_mappings (type, hash, state, raw_id, answered_at, due_at) VALUES ($1, $2, $3, $4, 5, $5)',
        [type, hashes[index]!, state, rawId, dueAt],
      );
    const mappings = await service().open(database);
    const found = [];
    for await (const { hash, rawId } of mappings.entries()) found.push([hash, rawId]);
    const mapped = [0, 1, 2].map((index) => [hashes[index], rows[index]![2]]);
    expect(found).toEqual(mapped.toSorted());
    expect(await mappings.mapDue()).toMatchObject({ mapped: 1 });
    expect((await mappings.find({ phoneHash: hashes[1]! }))!.rawId).not.toBe('raw-2');
    expect(await mappings.map([{ emailHash: hashes[3]! }])).toMatchObject({ mapped: 1 });
  },
);
