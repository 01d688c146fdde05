/**
 * Limits the number of requests in flight. A 429 halves the limit; each series of successes raises it by one, up to its maximum.
 *
 * Each client owns one limiter, so that all its calls share the limit.
 */

import { isTokenError } from '../token/errors.ts';

export interface ConcurrencyLimiter {
  /** Run `task` as soon as the limit allows. Rejects with the reason of `signal` if it is aborted while the task waits. */
  run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** Create a limiter that starts at its highest limit, `max` parallel tasks. */
export function createConcurrencyLimiter(max: number): ConcurrencyLimiter {
  let limit = max;
  let running = 0;
  // If requests that started together are all refused, they halve the limit once, not once each.
  let halvings = 0;
  const waiting: (() => void)[] = [];

  const startWaiting = () => {
    while (waiting.length > 0 && running + 1 <= limit) {
      running++;
      waiting.shift()!();
    }
  };

  const acquire = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const start = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = () => {
        waiting.splice(waiting.indexOf(start), 1);
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      waiting.push(start);
      startWaiting();
    });

  return {
    run: async (task, signal) => {
      await acquire(signal);
      const halvingsAtStart = halvings;
      try {
        const result = await task();
        limit = Math.min(max, limit + 1 / limit);
        return result;
      } catch (e) {
        if (isTokenError(e) && e.code === 'rate_limited' && halvingsAtStart === halvings) {
          limit = Math.max(1, Math.floor(limit / 2));
          halvings++;
        }
        throw e;
      } finally {
        running--;
        startWaiting();
      }
    },
  };
}
