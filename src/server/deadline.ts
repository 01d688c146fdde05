/**
 * One time limit for a whole task, combined with the caller's AbortSignal.
 *
 * This file knows nothing about HTTP. The limit is raced against the task, so a `fetch` that ignores its signal cannot block a
 * caller.
 */

import { TokenError } from '../token/errors.ts';
import { onAbort } from './abort-listeners.ts';

/**
 * Run `task` within `timeoutMs`.
 *
 * @param name   begins the message of the time-out, for example `generate: POST /v2/token/generate`.
 * @param outer  the caller's signal.
 * @param task   receives a signal that aborts at the deadline or with `outer`.
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
  let stop: (reason: unknown) => void = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = (reason) => {
      reject(reason);
      controller.abort(reason);
    };
  });
  const onTimeout = () => stop(new TokenError('timeout', `${name}: no answer within ${timeoutMs} ms`));
  const timer = setTimeout(onTimeout, timeoutMs);
  // Not `AbortSignal.any`, whose result stays in memory as long as the caller's signal lives.
  const stopListening = onAbort(outer, () => stop(outer?.reason));
  try {
    return await Promise.race([task(controller.signal), stopped]);
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}
