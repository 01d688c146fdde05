/**
 * Trying again: which failures pass, how long to wait, and no longer than the caller's signal allows.
 *
 * It knows nothing of what is tried. The bulk methods use it; a page's `generate` fails fast instead.
 */

import { isTokenError, type TokenError } from '../token/errors.ts';
import { LONGEST_TIMER_MS } from './options.ts';

/** A `Retry-After` beyond this is not waited for, ms: the error goes to the caller, who sees `retryAfterMs`. */
export const LONGEST_RETRY_AFTER_MS = 300_000;

const PASSING = new Set(['network', 'timeout', 'rate_limited']);

/** Whether the same request may well succeed later: network, time-out, 429, 408, 425, 5xx. */
export function isPassing(e: unknown): e is TokenError {
  return (
    isTokenError(e) &&
    (PASSING.has(e.code) ||
      (e.code === 'http_status' &&
        (e.status === 408 || e.status === 425 || (e.status !== undefined && e.status >= 500))))
  );
}

/** Wait `ms`; rejects with the reason of `signal` once that is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/**
 * The wait before the next try, ms: random below a ceiling that doubles (full jitter), so that many callers spread
 * out. After a `Retry-After` it is that time and a random bit of the first span more.
 *
 * @param failures  how many tries have failed so far, 1 or more.
 */
export function waitMs(
  failures: number,
  { firstMs, maxMs }: { readonly firstMs: number; readonly maxMs: number },
  retryAfterMs?: number,
): number {
  return retryAfterMs === undefined
    ? Math.random() * Math.min(maxMs, firstMs * 2 ** (failures - 1))
    : Math.min(retryAfterMs + Math.random() * Math.min(maxMs, firstMs), LONGEST_TIMER_MS);
}

/**
 * Do `attempt` until it succeeds, fails for good, or `tries` are used up.
 *
 * @param attempt  starts afresh each time: a sealed request carries its time, and an old one would be refused.
 * @throws what the last attempt threw, or the reason of `signal`.
 */
export async function retried<T>(
  attempt: () => Promise<T>,
  retry: { readonly tries: number; readonly firstMs: number; readonly maxMs: number },
  signal: AbortSignal,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (e) {
      if (!isPassing(e) || failures >= retry.tries || (e.retryAfterMs ?? 0) > LONGEST_RETRY_AFTER_MS) throw e;
      await pause(waitMs(failures, retry, e.retryAfterMs), signal);
    }
  }
}
