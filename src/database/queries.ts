/** Queries on an engine, or on one of its transactions. Both engines have the same two methods, under different names. */

import { parameterOf } from './array-parameter.ts';
import { storageError } from './engine-errors.ts';
import type { Queries, Row, Value } from './types.ts';

export function createQueries(executor: {
  query(sql: string, params: unknown[]): Promise<{ readonly rows: unknown[] }>;
  script(sql: string): Promise<unknown>;
}): Queries {
  return {
    query: async <R extends object = Row>(sql: string, params: readonly Value[] = []) => {
      try {
        const converted = params.map((value, i) => parameterOf(value, i + 1, sql));
        const { rows } = await executor.query(sql, converted);
        return rows as R[];
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
