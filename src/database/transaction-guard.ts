/**
 * Detects failed statements within a transaction: PostgreSQL answers COMMIT after a failed statement by rolling back, without
 * an error.
 */

import { TokenError } from '../token/index.ts';
import type { Queries } from './types.ts';

/** Wrap the queries of a transaction. `assertNoneFailed` throws `storage_failed` if a statement has failed. */
export function guardTransaction({ query, script }: Queries): Queries & { assertNoneFailed(): void } {
  let hasFailed = false;
  const rethrow = (error: unknown): never => {
    hasFailed = true;
    throw error;
  };
  return {
    query: (sql, params) => query<never>(sql, params).catch(rethrow),
    script: (sql) => script(sql).catch(rethrow),
    assertNoneFailed: () => {
      if (hasFailed)
        throw new TokenError('storage_failed', 'database: nothing was written: a statement in the transaction failed');
    },
  };
}
