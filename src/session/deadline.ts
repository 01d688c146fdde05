/** Bounded waiting: the one place where a promise is raced against time. Knows nothing of what is awaited. */

import { TokenError } from '../token/errors.ts';

/**
 * Wait for `work`, at most `ms`, and no longer than a timer can (24 days).
 *
 * @param work    keeps running after the deadline; what it brings then is ignored.
 * @param signal  ends the waiting when it is aborted.
 * @throws {TokenError} `timeout` once `ms` have passed; else whatever `work` rejects with, or the event of the signal.
 */
export function within<T>(ms: number, work: Promise<T>, signal?: AbortSignal): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  return new Promise<T>((resolve, reject) => {
    if (signal?.aborted) reject(signal);
    timer = setTimeout(() => reject(new TokenError('timeout')), Math.min(ms, 2 ** 31 - 1));
    // Not by `onabort`: that is for the host's own `provide`.
    signal?.addEventListener('abort', reject);
    work.then(resolve, reject);
  }).finally(() => clearTimeout(timer));
}
