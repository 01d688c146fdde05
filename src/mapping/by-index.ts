/**
 * Transactions that find rows by index, whatever the engine guesses.
 *
 * PGlite never counts its rows by itself, and PostgreSQL takes a look at a whole table for cheaper than it is where a few
 * thousand rows are wanted. Jobs must cost by what they touch, not by what is stored.
 */

import type { Database, Queries } from '../database/contract.ts';

/** Run a transaction in which no table is read from end to end. */
export function byIndex<T>(database: Database, work: (queries: Queries) => Promise<T>): Promise<T> {
  return database.transaction(async (queries) => {
    await queries.script(
      'SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off',
    );
    return work(queries);
  });
}
