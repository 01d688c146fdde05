/** The rate limit that all nodes on one PostgreSQL database share: see `rate-limit.ts`. */

import type { Database } from '../../database/index.ts';
import { createOutageLog, type Logger } from '../ports/logger.ts';
import type { RateLimit } from '../ports/state.ts';
import { memoryRateLimit } from './rate-limit.ts';

/**
 * Counts only by the clock of the database, because a node whose clock is ahead would start a second that ends later on all other
 * nodes. A second that ends more than two seconds from now was started before that clock was set back.
 */
const COUNT = `INSERT INTO tessera_rate_limits AS stored (key, points, expire)
  VALUES ($1, 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + 1000)
  ON CONFLICT (key) DO UPDATE SET (points, expire) = (
    SELECT CASE WHEN has_ended THEN 1 ELSE stored.points + 1 END, CASE WHEN has_ended THEN excluded.expire ELSE stored.expire END
    FROM (SELECT stored.expire NOT BETWEEN excluded.expire - 999 AND excluded.expire + 1000 AS has_ended) AS second
  )
  RETURNING points, expire - (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS "waitMs"`;

/** A database that can be read but not written can still answer mapping requests, so it must not stop them here. */
function withFallback(shared: RateLimit, own: RateLimit, logger: Logger | undefined): RateLimit {
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
}

/**
 * Create a rate limit that all nodes on one PostgreSQL database share. There is one row for each participant. While the database
 * cannot write, requests are counted in the memory of this process.
 */
export function databaseRateLimit(database: Database, perSecond: number, logger?: Logger): RateLimit {
  const take = async (key: string): Promise<number | undefined> => {
    const [row] = await database.query<{ points: number; waitMs: number }>(COUNT, [key]);
    return row!.points > perSecond ? row!.waitMs : undefined;
  };
  return withFallback({ take }, memoryRateLimit(perSecond), logger);
}
