/** What both engines promise: the tests, which `contract-pglite` and `contract-postgres` run. */

import { afterEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { type Database, migrate } from '../../src/database/index.ts';
import { isTokenError } from '../../src/token/index.ts';
import { freshLocation, freshPlace, inspected, type Kind, openPlace } from './locations.ts';

const open: Database[] = [];
afterEach(async () => Promise.all(open.splice(0).map((database) => database.close())));

export const VALUES = {
  big: 2 ** 53 - 1,
  small: -5,
  words: `a "b", {c}, 'd' \\ \n é 🙂`,
  bytes: Uint8Array.from([0, 1, 92, 120, 127, 128, 255]),
  yes: true,
  no: false,
  nothing: null,
  bigs: [1, 2 ** 40],
  texts: ['a', 'b,"c"', '{}', '\\', '', 'NULL', null, 'd\n'],
  unescaped: ['a', "b,'c'", '{}', '[]', '', 'NULL', 'null', null, 'é 🙂', '語'.repeat(100)],
  numbers: [-1, null, 2 ** 53 - 1, 1 - 2 ** 53, 0],
  nulls: [null, null],
  missing: [null],
  nobody: [],
};
const TYPES = [
  ...['bigint', 'integer', 'text', 'bytea', 'boolean', 'boolean', 'text', 'bigint[]', 'text[]'],
  ...['text[]', 'bigint[]', 'text[]', 'bigint[]', 'text[]'],
];
export const selectValues = async (database: Database): Promise<unknown> => {
  const select = Object.keys(VALUES).map((name, at) => `$${at + 1}::${TYPES[at]} AS ${name}`);
  const [row] = await database.query(`SELECT ${select.join(', ')}`, Object.values(VALUES));
  expect(row!.bytes!.constructor).toBe(Uint8Array);
  return row;
};

export const runContract = (kind: Kind) =>
  describe(kind, () => {
    const start = async (place?: string): Promise<Database> => {
      const database = place === undefined ? await openPlace(await freshPlace(kind)) : await openDatabase(place);
      open.push(database);
      return database;
    };

    test('has a kind, and closes once for several calls', async () => {
      const database = await start(await freshLocation(kind));
      expect(database.kind).toBe(kind);
      await Promise.all([database.close(), database.close()]);
      await expect(database.query('SELECT 1')).rejects.toMatchObject({ code: 'closed' });
      await expect(database.script('SELECT 1')).rejects.toMatchObject({ code: 'closed' });
      await expect(database.transaction(async () => 1)).rejects.toMatchObject({ code: 'closed' });
    });

    test('returns the values that were stored', async () => {
      expect(await selectValues(await start())).toEqual(VALUES);
    });

    test('stores JSON, counts as numbers, and returns the rows of a change', async () => {
      const database = await start();
      await database.script('CREATE TABLE t (id integer PRIMARY KEY, more jsonb); CREATE INDEX ON t (id)');
      const change = 'INSERT INTO t VALUES ($1, $2::text::jsonb) RETURNING id, more';
      expect(await database.query(change, [1, '{"a":[1,null]}'])).toEqual([{ id: 1, more: { a: [1, null] } }]);
      expect(await database.query('SELECT count(*) AS n FROM t')).toEqual([{ n: 1 }]);
      expect(await database.query('DELETE FROM t')).toEqual([]);
    });

    test('lets the process do other work between statements, and between transactions', async () => {
      const database = await start();
      let turns = 0;
      let counting = setImmediate(function count() {
        turns++;
        counting = setImmediate(count);
      });
      const turnsDuring = async (work: () => Promise<unknown>): Promise<number> => {
        const before = turns;
        for (let i = 0; i < 20; i++) await work();
        return turns - before;
      };
      const statements = await turnsDuring(() => database.query('SELECT 1'));
      const transactions = await turnsDuring(() => database.transaction(({ query }) => query('SELECT 1')));
      clearImmediate(counting);
      expect(Math.min(statements, transactions)).toBeGreaterThan(10);
    });

    describe('a transaction', () => {
      const table = async (): Promise<Database> => {
        const database = await start();
        await database.script('CREATE TABLE t (id integer PRIMARY KEY)');
        return database;
      };
      const ids = (database: Database) => database.query('SELECT id FROM t ORDER BY id');

      test('commits all its statements and returns the result of its work', async () => {
        const database = await table();
        const answer = await database.transaction(async ({ query, script }) => {
          await query('INSERT INTO t VALUES ($1)', [1]);
          await script('INSERT INTO t VALUES (2); INSERT INTO t VALUES (3)');
          return 'done';
        });
        expect(answer).toBe('done');
        expect(await ids(database)).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
      });

      test('rolls back if its work throws, and rethrows that error', async () => {
        const database = await table();
        const thrown = new RangeError('mine');
        const work = database.transaction(async ({ query }) => {
          await query('INSERT INTO t VALUES (1)');
          throw thrown;
        });
        await expect(work).rejects.toBe(thrown);
        expect(await ids(database)).toEqual([]);
      });

      test('does not see the statements of an uncommitted one', async () => {
        const database = await table();
        await database.query('INSERT INTO t VALUES (0)');
        const raise = database.transaction.bind(undefined, async ({ query }) => {
          const [row] = await query<{ id: number }>('SELECT id FROM t FOR UPDATE');
          await query('UPDATE t SET id = $1', [row!.id + 1]);
        });
        await Promise.all(Array.from({ length: 20 }, raise));
        expect(await ids(database)).toEqual([{ id: 20 }]);
      });

      test('completes before closing does', async () => {
        const place = await freshLocation(kind);
        const database = await start(place);
        await database.script('CREATE TABLE t (id integer)');
        let closed: Promise<void> | undefined;
        await database.transaction(async ({ query }) => {
          await query('INSERT INTO t VALUES (1)');
          closed = database.close();
          await query('INSERT INTO t VALUES (2)');
        });
        await closed;
        expect(await (await start(place)).query('SELECT count(*) AS n FROM t')).toEqual([{ n: 2 }]);
      });
    });

    test('still holds acknowledged rows when it is opened again', async () => {
      const place = await freshLocation(kind);
      const first = await start(place);
      await first.script('CREATE TABLE t (id integer)');
      const written = Promise.all(
        Array.from({ length: 100 }, (_, id) => first.query('INSERT INTO t VALUES ($1)', [id])),
      );
      await Promise.all([written, first.close()]);
      expect(await (await start(place)).query('SELECT count(*) AS n FROM t')).toEqual([{ n: 100 }]);
    });

    test('describes a failure without the parameters', async () => {
      const database = await start();
      await database.script('CREATE TABLE t (id integer PRIMARY KEY, word text); INSERT INTO t VALUES (1)');
      const failures: [sql: string, params: (string | number)[], said: string][] = [
        ['SELECT nothing FROM t', [], 'column "nothing" does not exist (42703)'],
        [
          'INSERT INTO t VALUES ($1, $2)',
          [1, 'DII'],
          'duplicate key value violates unique constraint "t_pkey" (23505)',
        ],
        ['SELECT $1::text::integer', ['DII'], 'an invalid value (22P02)'],
        ['SELECT $1::text', ['DII\0'], 'an invalid value (22021)'],
        ['SELECT $1::bigint', ['DII'], ''],
        ['SELECT DII FROM', [], 'syntax error'],
      ];
      for (const [sql, params, said] of failures) {
        const error = await database.query(sql, params).catch((thrown: unknown) => thrown);
        expect(isTokenError(error) && error.code).toBe('storage_failed');
        expect((error as Error).message).toContain(said);
        if (params.length > 0) expect(inspected(error)).not.toContain('DII');
      }
      await expect(database.script('CREATE TABLE t (id integer)')).rejects.toMatchObject({ code: 'storage_failed' });
      expect(await database.query('SELECT id FROM t')).toEqual([{ id: 1 }]);
    });

    describe('migrations', () => {
      const steps = ['CREATE TABLE a (id integer); CREATE TABLE b (id integer)', 'ALTER TABLE a ADD COLUMN word text'];

      test('run once each, in order, for each owner', async () => {
        const database = await start();
        await migrate(database, { name: 'one', steps: steps.slice(0, 1) });
        await migrate(database, { name: 'one', steps });
        await migrate(database, { name: 'one', steps });
        await migrate(database, { name: 'two', steps: ['CREATE TABLE c (id integer)'] });
        await database.query("INSERT INTO a VALUES (1, 'word')");
        expect(await database.query('SELECT room, number FROM tessera_migrations ORDER BY room, number')).toEqual([
          { room: 'one', number: 1 },
          { room: 'one', number: 2 },
          { room: 'two', number: 1 },
        ]);
      });

      test('that fail change nothing', async () => {
        const database = await start();
        const failing = migrate(database, { name: 'one', steps: [...steps, 'CREATE TABLE nothing (('] });
        await expect(failing).rejects.toMatchObject({ code: 'storage_failed' });
        await migrate(database, { name: 'one', steps });
        expect(await database.query('SELECT * FROM a')).toEqual([]);
      });

      test('reject tables of a newer version', async () => {
        const database = await start();
        await migrate(database, { name: 'one', steps });
        await expect(migrate(database, { name: 'one', steps: steps.slice(0, 1) })).rejects.toThrow(
          'the tables of one: expected version 1 or lower, got 2',
        );
      });

      test('take turns when several start at once', async () => {
        const place = kind === 'postgres' ? await freshLocation(kind) : undefined;
        const several =
          place === undefined ? [await start()] : await Promise.all([start(place), start(place), start(place)]);
        await Promise.all([...several, ...several].map((database) => migrate(database, { name: 'one', steps })));
        expect(await several[0]!.query('SELECT number FROM tessera_migrations ORDER BY number')).toHaveLength(2);
      });
    });
  });
