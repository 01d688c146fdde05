/**
 * Queries on an engine, or on one of its transactions. Both engines have the same two methods, under different names.
 */

import { parameterOf } from './array-parameter.ts';
import { storageError } from './engine-errors.ts';
import type { Queries, Row, Value } from './types.ts';

export interface Executor {
  query(sql: string, params: unknown[]): Promise<{ readonly rows: unknown[] }>;
  /** Run several statements without parameters. */
  script(sql: string): Promise<unknown>;
}

export function createQueries(executor: Executor): Queries {
  return {
    query: async <R extends object = Row>(sql: string, params: readonly Value[] = []) => {
      try {
        return (
          await executor.query(
            sql,
            params.map((value, i) => parameterOf(value, i + 1, sql)),
          )
        ).rows as R[];
      } catch (error) {
        throw storageError(error, 'a statement failed');
      }
    },
    script: async (sql) => {
      try {
        await executor.script(sql);
      } catch (error) {
        throw storageError(error, 'a script failed');
      }
    },
  };
}
