/** Bounded waiting: the only place where a promise is raced against a timer. It knows nothing about the work. */

import { MAX_TIMER_MS } from '../token/checks.ts';
import { TokenError } from '../token/errors.ts';

/**
 * Wait for `work`, at most `ms`.
 *
 * @param ms      capped at the maximum of a timer, 24 days.
 * @param work    continues after the limit; its result is ignored then.
 * @param what    names the work in the error, for example `provide`.
 * @param signal  ends the wait when it is aborted.
 * @throws {TokenError} `timeout` once `ms` have passed; otherwise whatever `work` rejects with. The rejection after an abort is
 *   unspecified.
 */
export function withTimeout<T>(ms: number, work: Promise<T>, what: string, signal?: AbortSignal): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  return new Promise<T>((resolve, reject) => {
    if (signal?.aborted) reject(signal.reason);
    const onTimeout = () => reject(new TokenError('timeout', `${what}: no result within ${ms} ms`));
    timer = setTimeout(onTimeout, Math.min(ms, MAX_TIMER_MS));
    // Not the property `onabort`: the host's `provide` may set that on the same signal.
    signal?.addEventListener('abort', reject);
    work.then(resolve, reject);
  }).finally(() => clearTimeout(timer));
}
