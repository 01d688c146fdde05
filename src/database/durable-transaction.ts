/**
 * Transactions that are on disk when they are acknowledged. With `synchronous_commit = off`, a common setting, PostgreSQL
 * acknowledges a commit before that, and a crash of the server loses it.
 */

import type { Database, Queries } from './types.ts';

/** The same as `SET LOCAL synchronous_commit = on`, only for this transaction. `remote_apply` guarantees more, so it stays. */
const MAKE_DURABLE = `SELECT set_config('synchronous_commit', 'on', true)
  WHERE current_setting('synchronous_commit') <> 'remote_apply'`;

export function durableTransaction<T>(database: Database, work: (queries: Queries) => Promise<T>): Promise<T> {
  return database.transaction(async (queries) => {
    await queries.query(MAKE_DURABLE);
    return work(queries);
  });
}
