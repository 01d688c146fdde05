/** Statements that do not depend on what other clients of a pooler have set for a session. */

import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { migrate } from '../../src/database/migrations.ts';
import { qualified } from '../../src/database/postgres/schema-names.ts';
import type { Database } from '../../src/database/types.ts';
import { freshLocation } from './locations.ts';

describe('qualified', () => {
  test.each([
    ['SELECT 1 FROM tessera_a, tessera_b', 'SELECT 1 FROM "s".tessera_a, "s".tessera_b'],
    ['UPDATE tessera_a SET n = tessera_a.n', 'UPDATE "s".tessera_a SET n = "s".tessera_a.n'],
    ["SELECT 'tessera_a'::regclass", `SELECT '"s".tessera_a'::regclass`],
    ["SELECT 'of tessera_a', 'it''s tessera_b'", "SELECT 'of tessera_a', 'it''s tessera_b'"],
    ['SELECT other.tessera_a, my_tessera_b', 'SELECT other.tessera_a, my_tessera_b'],
  ])('%s', (sql, expected) => expect(qualified(sql, 's')).toBe(expected));

  test('quotes the name of the schema', () => {
    expect(qualified("TABLE tessera_a; SELECT 'tessera_a'", `a"b'c`)).toBe(
      `TABLE "a""b'c".tessera_a; SELECT '"a""b''c".tessera_a'`,
    );
  });
});

/** All statements of such a database use the same connection. */
const openOne = (place: string): Promise<Database> => openDatabase(place, { connections: 1 });
const MIGRATIONS = {
  name: 'test',
  steps: ['CREATE TABLE tessera_test (n integer); CREATE INDEX tessera_test_n ON tessera_test (n)'],
};
const schemaOfTable = (database: Database) =>
  database.query("SELECT schemaname::text AS schema FROM pg_tables WHERE tablename IN ('tessera_' || 'test')");
const withSchema = (place: string, schema: string): string => `${place}?schema=${encodeURIComponent(schema)}`;

describe('the schema of a database', () => {
  test('is that of the role, whatever another client sets for the session', async () => {
    const database = await openOne(await freshLocation('postgres'));
    await database.query("SELECT set_config('search_path', '', false)");
    await migrate(database, MIGRATIONS);
    await database.query('INSERT INTO tessera_test VALUES (1)');
    const read = await database.transaction(({ query }) => query('SELECT n FROM tessera_test'));
    expect(read).toEqual([{ n: 1 }]);
    expect(await schemaOfTable(database)).toEqual([{ schema: 'public' }]);
    expect(await database.query("SELECT current_setting('search_path') AS path")).toEqual([{ path: '' }]);
    await database.close();
  });

  test('is one that the URL names', async () => {
    const place = await freshLocation('postgres');
    const admin = await openOne(place);
    await admin.script(`CREATE SCHEMA "it's ""mine"""`);
    const database = await openOne(withSchema(place, 'it\'s "mine"'));
    await migrate(database, MIGRATIONS);
    await database.query('INSERT INTO tessera_test VALUES (2)');
    expect(await schemaOfTable(admin)).toEqual([{ schema: 'it\'s "mine"' }]);
    await Promise.all([database.close(), admin.close()]);
  });

  test('that does not exist is refused in words', async () => {
    const place = await freshLocation('postgres');
    await expect(openOne(withSchema(place, 'none'))).rejects.toThrow(
      'database: schema: expected the one that the URL names, got none that exists; create it: CREATE SCHEMA name',
    );
    await expect(openOne(withSchema(place, ''))).rejects.toThrow(
      new RangeError('database: expected one schema in the URL, got an empty name'),
    );
  });

  test('that already has the tables is kept, although another one now precedes it', async () => {
    const place = await freshLocation('postgres');
    const first = await openOne(place);
    await migrate(first, MIGRATIONS);
    await first.script('CREATE SCHEMA tessera');
    await first.close();
    const database = await openOne(place);
    await migrate(database, MIGRATIONS);
    expect(await schemaOfTable(database)).toEqual([{ schema: 'public' }]);
    await database.close();
  });

  test('a transaction has its time limit, whatever another client sets for the session', async () => {
    const database = await openDatabase(await freshLocation('postgres'), { connections: 1, statementTimeoutMs: 4000 });
    await database.query("SELECT set_config('statement_timeout', '0', false)");
    const limit = () => database.transaction(({ query }) => query("SELECT current_setting('statement_timeout') AS ms"));
    expect(await limit()).toEqual([{ ms: '4s' }]);
    await database.close();
  });
});
