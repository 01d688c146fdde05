/**
 * The key generations in a database, whose times all nodes follow. So a machine with a wrong clock writes none: it would announce
 * or retire keys too early for all. The server's clock decides.
 */

import { type Database, durableTransaction } from '../../database/index.ts';
import { TokenError } from '../../token/index.ts';
import type { Logger } from '../ports/logger.ts';
import type { KeyStore, StoredGeneration } from '../ports/state.ts';

/** From the database's clock, for a machine that announces and retires generations. The schedule has margins for it. */
export const MAX_DIFFERENCE_SECONDS = 600;

const DATABASE_TIME = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS "databaseTime"';

interface Timed {
  readonly databaseTime: number;
}

/** Compares the clock of this machine, not the one in the options: in a test that simulates a year, both must be right. */
function clockFault(database: Database, { databaseTime }: Timed): string | undefined {
  const seconds = Math.round((Date.now() - databaseTime) / 1000);
  if (database.kind !== 'postgres' || Math.abs(seconds) <= MAX_DIFFERENCE_SECONDS) return undefined;
  return `expected a clock within ${MAX_DIFFERENCE_SECONDS} s of that of the database, got one that is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead' : 'behind'}`;
}

export function keyRows(database: Database, logger?: Logger): KeyStore {
  let isWarned = false;
  const warnOnce = (fault: string | undefined): void => {
    if (fault !== undefined && !isWarned)
      logger?.warn({ reason: `keys: ${fault}` }, 'keys: this node changes none, because of its clock');
    isWarned = fault !== undefined;
  };
  return {
    list: async () => {
      const rows = await database.query<StoredGeneration & Timed>(
        `SELECT generation, activates_at AS "activatesAt", retired_at AS "retiredAt", longest_ms AS "longestMs", ${DATABASE_TIME}
          FROM tessera_keys ORDER BY generation`,
      );
      if (rows[0]) warnOnce(clockFault(database, rows[0]));
      return rows.map(({ databaseTime: _, ...row }) => row);
    },
    // Durable, because a token under a generation that a crash loses could not be opened any more.
    put: (generations) =>
      durableTransaction(database, async ({ query }) => {
        const [time] = await query<Timed>(`SELECT ${DATABASE_TIME}`);
        const fault = clockFault(database, time!);
        if (fault !== undefined) throw new TokenError('storage_failed', `keys: ${fault}`);
        // Every node writes in the same order, so that nodes that write the same generations cannot deadlock.
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
