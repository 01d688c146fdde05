/** Retries of the bulk methods. `generate` and the other calls for one user fail at once, because a page waits for them. */

import { MAX_TIMER_MS } from '../../token/checks.ts';
import { isTokenError, type TokenError } from '../../token/errors.ts';
import { onAbort } from '../call/abort-listeners.ts';

/** Longest `Retry-After` that is awaited, ms. If it is longer, the error goes to the caller, with `retryAfterMs`. */
export const MAX_RETRY_AFTER_MS = 300_000;

/** Tell whether the same request may succeed later: network failure, time-out, 408, 425, 429, 5xx. */
export function isTemporary(e: unknown): e is TokenError {
  if (!isTokenError(e)) return false;
  const { code, status = 0 } = e;
  if (code === 'network' || code === 'timeout' || code === 'rate_limited') return true;
  return code === 'http_status' && (status === 408 || status === 425 || status >= 500);
}

export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const timer = setTimeout(() => {
      stopListening();
      resolve();
    }, ms);
    const stopListening = onAbort(signal, () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/**
 * Random below a limit that doubles with each failure (full jitter), plus `retryAfterMs`: so the waits grow even if the service
 * always sends `Retry-After: 0`. `failures`: attempts that have failed so far, 1 or more.
 */
export function retryDelayMs(
  failures: number,
  { firstMs, maxMs }: { readonly firstMs: number; readonly maxMs: number },
  retryAfterMs = 0,
): number {
  return Math.min(retryAfterMs + Math.random() * Math.min(maxMs, firstMs * 2 ** (failures - 1)), MAX_TIMER_MS);
}

/**
 * Run `attempt` until it succeeds, fails with an error that is not temporary, or has run `tries` times. It encrypts a new request
 * each time, because the service rejects an old timestamp. @throws the last error, or the reason of `signal`.
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
