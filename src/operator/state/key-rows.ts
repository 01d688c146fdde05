/** The generations of keys in a database. */

import { type Database, durableTransaction } from '../../database/index.ts';
import type { KeyStore } from './state.ts';

/** Create the store of generations in a database. */
export function keyRows(database: Database): KeyStore {
  return {
    list: () =>
      database.query(
        `SELECT generation, activates_at AS "activatesAt", retired_at AS "retiredAt", longest_ms AS "longestMs"
          FROM tessera_keys ORDER BY generation`,
      ),
    // Durable: a token under a generation that a crash loses would not open again.
    put: (generations) =>
      durableTransaction(database, async ({ query }) => {
        // Every node writes in the same order, so nodes that write the same generations cannot deadlock.
        const rows = generations.toSorted((a, b) => a.generation - b.generation);
        await query(
          `INSERT INTO tessera_keys SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
            ON CONFLICT (generation) DO UPDATE SET
              retired_at = coalesce(tessera_keys.retired_at, excluded.retired_at),
              longest_ms = greatest(tessera_keys.longest_ms, excluded.longest_ms)`,
          [
            rows.map(({ generation }) => generation),
            rows.map(({ activatesAt }) => activatesAt),
            rows.map(({ retiredAt }) => retiredAt),
            rows.map(({ longestMs }) => longestMs),
          ],
        );
      }),
  };
}
