/** One time limit for a whole task, combined with the caller's AbortSignal. */

import { TokenError } from '../../token/errors.ts';
import { onAbort } from './abort-listeners.ts';

/**
 * The limit is raced against the task, so a `fetch` that ignores its signal cannot block a caller.
 * @param name  begins the message of the time-out, for example `generate: POST /v2/token/generate`.
 * @throws {TokenError} `timeout` at the deadline.
 * @throws the reason of `outer` as soon as it is aborted.
 */
export async function withDeadline<T>(
  name: string,
  timeoutMs: number,
  outer: AbortSignal | undefined,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted();
  const controller = new AbortController();
  const { signal } = controller;
  const stopped = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const onTimeout = () => controller.abort(new TokenError('timeout', `${name}: no answer within ${timeoutMs} ms`));
  const timer = setTimeout(onTimeout, timeoutMs);
  // Not `AbortSignal.any`, whose result stays in memory as long as the caller's signal lives.
  const stopListening = onAbort(outer, () => controller.abort(outer?.reason));
  try {
    return await Promise.race([task(signal), stopped]);
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}
