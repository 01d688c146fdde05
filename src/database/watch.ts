/** Keeps a transaction honest: after a failed statement PostgreSQL answers COMMIT by rolling back, without an error. */

import { TokenError } from '../token/index.ts';
import type { Queries } from './contract.ts';

/** The same queries, and a look at whether all of them went well. */
export function watch({ query, script }: Queries): Queries & { stillGood(): void } {
  let failed = false;
  const note = (error: unknown): never => {
    failed = true;
    throw error;
  };
  return {
    query: (sql, params) => query<never>(sql, params).catch(note),
    script: (sql) => script(sql).catch(note),
    stillGood: () => {
      if (failed)
        throw new TokenError('storage_failed', 'database: nothing was written: a statement of the transaction failed');
    },
  };
}
