/**
 * The rate limit: so many requests a second and participant.
 *
 * It counts in real time, not by the operator's clock: a limit guards the machine, and a simulated year must not.
 */

// Its own file, not the whole package: the whole wants the clusters of Node. Types come with the whole only.
// @ts-expect-error
import memory from 'rate-limiter-flexible/lib/RateLimiterMemory.js';
// @ts-expect-error
import postgres from 'rate-limiter-flexible/lib/RateLimiterPostgres.js';
import type { Database, Value } from '../../database/contract.ts';

type Package = typeof import('rate-limiter-flexible');
const RateLimiterMemory = memory as Package['RateLimiterMemory'];
const RateLimiterPostgres = postgres as Package['RateLimiterPostgres'];

/** Counts requests by key. A database may bring one that several nodes share. */
export interface Limiter {
  /** Count one; how long to wait, ms, where it is one too many. */
  take(key: string): Promise<number | undefined>;
}

const limiterOf = (limiter: { consume(key: string): Promise<unknown> }): Limiter => ({
  take: async (key) => {
    try {
      await limiter.consume(key);
      return undefined;
    } catch (refusal) {
      if (refusal instanceof Error) throw refusal;
      return (refusal as { msBeforeNext: number }).msBeforeNext;
    }
  },
});

/** Limit in the memory of this process. */
export function memoryLimiter(perSecond: number): Limiter {
  return limiterOf(new RateLimiterMemory({ points: perSecond, duration: 1 }));
}

/** Limit that all nodes on one PostgreSQL share: its table is made with the others. */
export function sharedLimiter(database: Database, perSecond: number): Limiter {
  return limiterOf(
    new RateLimiterPostgres({
      storeClient: {
        query: async ({ text, values }: { text: string; values: Value[] }) => {
          const rows = await database.query(text, values);
          return { rows, rowCount: rows.length };
        },
      },
      // Of ours it only wants to be told that it need not ask for a connection first.
      storeType: 'pool',
      points: perSecond,
      duration: 1,
      tableName: 'tessera_rate_limits',
      tableCreated: true,
      keyPrefix: '',
      // One row for each participant: there is nothing to clear.
      clearExpiredByTimeout: false,
    }),
  );
}
