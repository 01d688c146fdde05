/**
 * How many requests are in flight at once: halved when the service says 429, raised by one for each round of
 * successes after, never above its limit.
 *
 * One gate belongs to one client, so that two runs side by side keep the limit together.
 */

import { isTokenError } from '../token/errors.ts';

export interface Gate {
  /** Do `work` as soon as there is room; rejects with the reason of `signal` when that is aborted before. */
  pass<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** A gate with room for `most` at first, and never more. */
export function createGate(most: number): Gate {
  let room = most;
  let inside = 0;
  // Counts the halvings: a burst of refusals to requests that left together is one reason to halve, not twenty.
  let halvings = 0;
  const waiting: (() => void)[] = [];

  const admit = () => {
    while (waiting.length > 0 && inside + 1 <= room) {
      inside++;
      waiting.shift()!();
    }
  };

  const enter = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const go = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        waiting.splice(waiting.indexOf(go), 1);
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      waiting.push(go);
      admit();
    });

  return {
    pass: async (work, signal) => {
      await enter(signal);
      const entered = halvings;
      try {
        const result = await work();
        room = Math.min(most, room + 1 / room);
        return result;
      } catch (e) {
        if (isTokenError(e) && e.code === 'rate_limited' && entered === halvings) {
          room = Math.max(1, Math.floor(room / 2));
          halvings++;
        }
        throw e;
      } finally {
        inside--;
        admit();
      }
    },
  };
}
