/** Creates and updates tables. Each owner has a list of scripts, which run once. Scripts may be appended, but never changed. */

import { isTokenError, TokenError } from '../token/index.ts';
import type { Database, Queries } from './types.ts';

export interface Migrations {
  readonly name: string;
  readonly steps: readonly string[];
}

/** Key of the advisory lock. The number is arbitrary but must never change. */
const LOCK_KEY = 0x7e55e7a;

/** The column `room` holds the name of the owner. It has this name in existing databases. */
const CREATE_TABLE = `CREATE TABLE tessera_migrations (
  room text NOT NULL,
  number integer NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (room, number)
)`;

async function doneIn({ query }: Pick<Queries, 'query'>, name: string): Promise<number> {
  const [last] = await query<{ number: number }>(
    'SELECT coalesce(max(number), 0) AS number FROM tessera_migrations WHERE room = $1',
    [name],
  );
  return last?.number ?? 0;
}

function assertNotNewer({ name, steps }: Migrations, done: number): void {
  if (done > steps.length)
    throw new TokenError(
      'storage_failed',
      `database: the tables of ${name}: expected version ${steps.length} or lower, got ${done}, written by a newer version of Tessera`,
    );
}

/** @throws {TokenError} `storage_failed` if the tables of one owner are older or newer. */
export async function assertMigrated(database: Database, migrations: Migrations): Promise<void> {
  const { name, steps } = migrations;
  const done = await doneIn(database, name);
  assertNotNewer(migrations, done);
  if (done < steps.length)
    throw new TokenError(
      'storage_failed',
      `database: the tables of ${name}: expected version ${steps.length}, got ${done}; start an operator of this version first, which updates them, or use the version of the running one`,
    );
}

/** PostgreSQL's code for a lock that another transaction has held for too long. */
const LOCK_TIMEOUT = '(55P03)';

async function runScript({ script }: Queries, { name, steps }: Migrations, number: number): Promise<void> {
  try {
    await script(steps[number - 1]!);
  } catch (error) {
    if (!isTokenError(error)) throw error;
    const remedy = error.message.endsWith(LOCK_TIMEOUT)
      ? ': another process uses them; end its job or transaction, then start this one again'
      : '';
    throw new TokenError(
      'storage_failed',
      `${error.message}, in the update of the tables of ${name} to version ${number}${remedy}`,
    );
  }
}

/**
 * Bring the tables of one owner up to date, all or none.
 *
 * @throws {TokenError} `storage_failed` if a newer version of Tessera has already changed them, if another process uses them for
 *   more than 4 s, or if the database user does not own them.
 */
export function migrate(database: Database, migrations: Migrations): Promise<void> {
  const { name, steps } = migrations;
  const run = async (queries: Queries): Promise<void> => {
    // Held until the end of the transaction. The statements after it see everything that the previous process has committed.
    await queries.query('SELECT pg_advisory_xact_lock($1::bigint)::text', [LOCK_KEY]);
    // A change of a table that waits for a long reader, such as pg_dump, blocks all later readers and writers of the table.
    if (database.kind === 'postgres') await queries.script("SET LOCAL lock_timeout = '4s'");
    // Not CREATE TABLE IF NOT EXISTS: that fails for a user without the right to create tables, even if the table exists.
    // Not `to_regclass`, which may rely on what this connection has read before it waited for the lock.
    const [table] = await queries.query<{ exists: boolean }>(
      `SELECT EXISTS (SELECT FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
        WHERE relname = 'tessera_migrations' AND nspname = current_schema()) AS exists`,
    );
    if (!table?.exists) await queries.script(CREATE_TABLE);
    const done = await doneIn(queries, name);
    assertNotNewer(migrations, done);
    for (let number = done + 1; number <= steps.length; number++) {
      await runScript(queries, migrations, number);
      await queries.query('INSERT INTO tessera_migrations (room, number) VALUES ($1, $2)', [name, number]);
    }
  };
  // Creating an index on a large table, or waiting for another process to migrate, may take longer than any other statement.
  return database.transaction(run, { isMigration: true });
}
