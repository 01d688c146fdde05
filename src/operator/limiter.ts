/**
 * The rate limit: so many requests a second and participant.
 *
 * It counts in real time, not by the operator's clock: a limit guards the machine, and a simulated year must not.
 */

// Its own file, not the whole package: the whole wants the clusters of Node. Types come with the whole only.
// @ts-expect-error
import memory from 'rate-limiter-flexible/lib/RateLimiterMemory.js';

const RateLimiterMemory = memory as typeof import('rate-limiter-flexible').RateLimiterMemory;

/** Counts requests by key. A database may bring one that several nodes share. */
export interface Limiter {
  /** Count one; how long to wait, ms, where it is one too many. */
  take(key: string): Promise<number | undefined>;
}

/** Limit in the memory of this process. */
export const memoryLimiter = (perSecond: number): Limiter => {
  const limiter = new RateLimiterMemory({ points: perSecond, duration: 1 });
  return {
    take: async (key) => {
      try {
        await limiter.consume(key);
        return undefined;
      } catch (refusal) {
        if (refusal instanceof Error) throw refusal;
        return (refusal as { msBeforeNext: number }).msBeforeNext;
      }
    },
  };
};
