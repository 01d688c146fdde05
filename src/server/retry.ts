/**
 * Retries: which failures are temporary, how long to wait between attempts, and the loop that runs them.
 *
 * This file knows nothing about the attempts. The bulk methods use it; `generate` and the other calls for one user fail at once,
 * because a page waits for them.
 */

import { MAX_TIMER_MS } from '../token/checks.ts';
import { isTokenError, type TokenError } from '../token/errors.ts';

/** Longest `Retry-After` that is awaited, ms. If it is longer, the error goes to the caller, with `retryAfterMs`. */
export const MAX_RETRY_AFTER_MS = 300_000;

const TEMPORARY_CODES = new Set(['network', 'timeout', 'rate_limited']);

/** Tell whether the same request may succeed later: network failure, time-out, 408, 425, 429, 5xx. */
function isTemporary(e: unknown): e is TokenError {
  if (!isTokenError(e)) return false;
  if (TEMPORARY_CODES.has(e.code)) return true;
  const { status } = e;
  return e.code === 'http_status' && status !== undefined && (status === 408 || status === 425 || status >= 500);
}

/** Wait `ms`. Rejects with the reason of `signal` as soon as it is aborted. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
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
 * Compute the wait before the next attempt, ms: random below a limit that doubles with each failure (full jitter), plus
 * `retryAfterMs`. Therefore, the waits grow even if the service always sends `Retry-After: 0`.
 *
 * @param failures  number of failed attempts so far, 1 or more.
 */
export function retryDelayMs(
  failures: number,
  { firstMs, maxMs }: { readonly firstMs: number; readonly maxMs: number },
  retryAfterMs = 0,
): number {
  return Math.min(retryAfterMs + Math.random() * Math.min(maxMs, firstMs * 2 ** (failures - 1)), MAX_TIMER_MS);
}

/**
 * Run `attempt` until it succeeds, fails with an error that is not temporary, or has run `tries` times.
 *
 * @param attempt  encrypts a new request each time, because the service rejects one with an old timestamp.
 * @throws the error of the last attempt, or the reason of `signal`.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  retry: { readonly tries: number; readonly firstMs: number; readonly maxMs: number },
  signal: AbortSignal,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (e) {
      if (!isTemporary(e) || failures >= retry.tries || (e.retryAfterMs ?? 0) > MAX_RETRY_AFTER_MS) throw e;
      await sleep(retryDelayMs(failures, retry, e.retryAfterMs), signal);
    }
  }
}
