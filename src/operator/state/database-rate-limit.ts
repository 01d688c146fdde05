/** The rate limit that all nodes on one PostgreSQL share: see `rate-limit.ts`. */

// A single file of the package: its main file imports Node's cluster module. The types come with the main file only.
// @ts-expect-error
import postgres from 'rate-limiter-flexible/lib/RateLimiterPostgres.js';
import type { Database, Value } from '../../database/index.ts';
import type { Logger } from '../options.ts';
import { createOutageLog } from '../outage-log.ts';
import { memoryRateLimit, type RateLimit, rateLimitOf } from './rate-limit.ts';

const RateLimiterPostgres = postgres as typeof import('rate-limiter-flexible').RateLimiterPostgres;

// A database that can be read but not written still answers mapping requests, so it must not stop them here.
const withFallback = (shared: RateLimit, own: RateLimit, logger: Logger | undefined): RateLimit => {
  const outage = createOutageLog(logger, {
    failure: 'rate limit: the database cannot count; each process counts its own requests',
    recovery: 'rate limit: the database counts again',
  });
  return {
    take: async (key) => {
      try {
        const waitMs = await shared.take(key);
        outage.recovered();
        return waitMs;
      } catch (error) {
        outage.failed(error);
        return own.take(key);
      }
    },
  };
};

/**
 * Create a rate limit that all nodes on one PostgreSQL share. Its table is one of `tables.ts`. While the database cannot write,
 * it counts in the memory of this process.
 */
export function databaseRateLimit(database: Database, perSecond: number, logger?: Logger): RateLimit {
  const limiter = new RateLimiterPostgres({
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
  });
  return withFallback(rateLimitOf(limiter), memoryRateLimit(perSecond), logger);
}
