/**
 * Schemas that grow: every room brings a list of scripts, numbered by their order from 1, and each is run once.
 *
 * A list is only ever added to. Several nodes may start at once: they take turns.
 */

import { TokenError } from '../token/index.ts';
import type { Database } from './contract.ts';

/** A room's tables: the scripts that make and change them, oldest first. */
export interface Migrations {
  /** Its name: `operator`, `mapping`. */
  readonly room: string;
  readonly steps: readonly string[];
}

// The advisory lock of whoever changes tables: any number, as long as it is always the same.
const TURN = 0x7e55e7a;

const LEDGER = `CREATE TABLE tessera_migrations (
  room text NOT NULL,
  number integer NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (room, number)
)`;

/**
 * Bring a room's tables up to date; all of it or nothing.
 *
 * @throws {TokenError} `storage_failed` where a newer version has been there before.
 */
export function migrate(database: Database, { room, steps }: Migrations): Promise<void> {
  return database.transaction(async (queries) => {
    // Held to the end of the transaction. Every statement after it sees what the one before us has done.
    await queries.query('SELECT pg_advisory_xact_lock($1::bigint)::text', [TURN]);
    // Looked for first: a user who may not create tables can still run on those that are there.
    const [ledger] = await queries.query<{ there: boolean }>(
      "SELECT to_regclass('tessera_migrations') IS NOT NULL AS there",
    );
    if (!ledger?.there) await queries.script(LEDGER);
    const [last] = await queries.query<{ number: number }>(
      'SELECT coalesce(max(number), 0) AS number FROM tessera_migrations WHERE room = $1',
      [room],
    );
    const done = last?.number ?? 0;
    if (done > steps.length)
      throw new TokenError(
        'storage_failed',
        `database: the tables of ${room} are at version ${done}, expected ${steps.length} at most: a newer version of Tessera made them`,
      );
    for (let number = done + 1; number <= steps.length; number++) {
      await queries.script(steps[number - 1]!);
      await queries.query('INSERT INTO tessera_migrations (room, number) VALUES ($1, $2)', [room, number]);
    }
  });
}
