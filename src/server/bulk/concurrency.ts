/** Limits the requests in flight of a client. A 429 halves the limit; each series of successes raises it by one, up to `max`. */

import { isTokenError } from '../../token/errors.ts';
import { onAbort } from '../call/abort-listeners.ts';

export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>;

export function createConcurrencyLimiter(max: number) {
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
        stopListening();
        resolve();
      };
      const stopListening = onAbort(signal, () => {
        waiting.splice(waiting.indexOf(start), 1);
        reject(signal.reason);
      });
      waiting.push(start);
      startWaiting();
    });

  return {
    /** Run `task` as soon as the limit allows. Rejects with the reason of `signal` if it is aborted while the task waits. */
    run: async <T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> => {
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
