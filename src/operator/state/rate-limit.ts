/**
 * The rate limit: a number of requests per second for each participant.
 *
 * It counts in real time, not by the operator's clock, because the limit protects the machine, and a simulated clock must not
 * lift it.
 */

// A single file of the package, because its main file imports Node's cluster module. The types come only with the main file.
// @ts-expect-error
import memory from 'rate-limiter-flexible/lib/RateLimiterMemory.js';
import type { RateLimit } from '../ports/state.ts';

const RateLimiterMemory = memory as typeof import('rate-limiter-flexible').RateLimiterMemory;

/** Create a rate limit that counts in the memory of this process. */
export function memoryRateLimit(perSecond: number): RateLimit {
  const limiter = new RateLimiterMemory({ points: perSecond, duration: 1 });
  return {
    take: (key) =>
      limiter.consume(key).then(
        () => undefined,
        // The package rejects with nothing else.
        ({ msBeforeNext }: { msBeforeNext: number }) => msBeforeNext,
      ),
  };
}
