/**
 * One deadline over a whole piece of work, and a caller's AbortSignal beside it.
 *
 * It knows nothing of HTTP. The work is raced, not only told: a `fetch` that ignores its signal cannot hang a caller.
 */

import { TokenError } from '../token/errors.ts';

/**
 * Do `work` within `timeoutMs`.
 *
 * @param outer  the caller's signal.
 * @param work   gets a signal that aborts at the deadline or with `outer`.
 * @throws {TokenError} `timeout` at the deadline.
 * @throws the reason of `outer` once that is aborted.
 */
export async function withDeadline<T>(
  timeoutMs: number,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted();
  const controller = new AbortController();
  let stop: (reason: unknown) => void = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = (reason) => {
      reject(reason);
      controller.abort(reason);
    };
  });
  const timer = setTimeout(() => stop(new TokenError('timeout', `no answer within ${timeoutMs} ms`)), timeoutMs);
  const onAbort = () => stop(outer?.reason);
  // Linked by hand: `AbortSignal.any` keeps its result alive as long as the caller's signal lives.
  outer?.addEventListener('abort', onAbort);
  try {
    return await Promise.race([work(controller.signal), stopped]);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', onAbort);
  }
}
