/** Waiting for a limited time. */

import { MAX_TIMER_MS } from '../token/checks.ts';
import { TokenError } from '../token/errors.ts';
import { explain } from './explain/entry.ts';

/**
 * A limit is measured in parts, each by a timer of its own. Time in which the page cannot run, because its main thread
 * is busy or the browser is stopped, counts as one part, so that what has arrived meanwhile is still handled.
 */
const PARTS = 4;

/**
 * Do `work` now, and wait for its result.
 *
 * @param ms  time in which the page can run; at most 24 days, the maximum of a timer.
 * @param work  may throw. It continues after the limit; its result is ignored then.
 * @throws {TokenError} `timeout`; otherwise whatever `work` throws or rejects with.
 */
export async function withTimeout<T>(ms: number, work: () => T | PromiseLike<T>, what: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  // Old polyfills of Promise have no `finally`.
  try {
    return await new Promise<T>((resolve, reject) => {
      let parts = PARTS;
      const onPart = () => {
        if (!parts--) return reject(new TokenError('timeout', explain?.timeLimitReason(what, ms)));
        timer = setTimeout(onPart, Math.min(ms, MAX_TIMER_MS) / PARTS);
      };
      onPart();
      Promise.resolve(work()).then(resolve, reject);
    });
  } finally {
    clearTimeout(timer!);
  }
}
