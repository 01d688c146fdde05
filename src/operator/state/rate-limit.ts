/**
 * The rate limit: a number of requests per second for each participant.
 *
 * It counts in real time, not by the operator's clock: the limit protects the machine, and a simulated clock must not
 * lift it.
 */

// Single files of the package: its main file imports Node's cluster module. The types come with the main file only.
// @ts-expect-error
import memory from 'rate-limiter-flexible/lib/RateLimiterMemory.js';
// @ts-expect-error
import postgres from 'rate-limiter-flexible/lib/RateLimiterPostgres.js';
import type { Database, Value } from '../../database/index.ts';

type Package = typeof import('rate-limiter-flexible');
const RateLimiterMemory = memory as Package['RateLimiterMemory'];
const RateLimiterPostgres = postgres as Package['RateLimiterPostgres'];

/** Counts requests by participant. */
export interface RateLimit {
  /** Count one request. Returns undefined if it is within the limit, else how long to wait, ms. */
  take(key: string): Promise<number | undefined>;
}

const rateLimitOf = (limiter: { consume(key: string): Promise<unknown> }): RateLimit => ({
  take: async (key) => {
    try {
      await limiter.consume(key);
      return undefined;
    } catch (rejection) {
      if (rejection instanceof Error) throw rejection;
      return (rejection as { msBeforeNext: number }).msBeforeNext;
    }
  },
});

/** Create a rate limit that counts in the memory of this process. */
export function memoryRateLimit(perSecond: number): RateLimit {
  return rateLimitOf(new RateLimiterMemory({ points: perSecond, duration: 1 }));
}

/** Create a rate limit that all nodes on one PostgreSQL share. Its table is one of `tables.ts`. */
export function databaseRateLimit(database: Database, perSecond: number): RateLimit {
  return rateLimitOf(
    new RateLimiterPostgres({
      storeClient: {
        query: async ({ text, values }: { text: string; values: Value[] }) => {
          const rows = await database.query(text, values);
          return { rows, rowCount: rows.length };
        },
      },
      // Tells the package to call `query` directly instead of acquiring a connection first.
      storeType: 'pool',
      points: perSecond,
      duration: 1,
      tableName: 'tessera_rate_limits',
      tableCreated: true,
      keyPrefix: '',
      // There is one row for each participant, so expired rows need no clearing.
      clearExpiredByTimeout: false,
    }),
  );
}
