/** Bounded waiting, calls whose failure is ignored, and listeners. Nothing here knows what a session is. */

import { MAX_TIMER_MS } from '../token/checks.ts';
import { TokenError } from '../token/errors.ts';

/**
 * Wait for `work`, at most `ms`.
 *
 * @param ms      capped at the maximum of a timer, 24 days.
 * @param work    continues after the limit; its result is ignored then.
 * @param what    names the work in the error, for example `provide`.
 * @param signal  ends the wait when it is aborted.
 * @returns the result of `work`, or `aborted`.
 * @throws {TokenError} `timeout` once `ms` have passed; otherwise whatever `work` rejects with.
 */
export function withTimeout<T>(
  ms: number,
  work: Promise<T>,
  what: string,
  signal?: AbortSignal,
): Promise<T | 'aborted'> {
  let timer: ReturnType<typeof setTimeout>;
  return new Promise<T | 'aborted'>((resolve, reject) => {
    const onAbort = () => resolve('aborted');
    if (signal?.aborted) onAbort();
    const onTimeout = () => reject(new TokenError('timeout', `${what}: no result within ${ms} ms`));
    timer = setTimeout(onTimeout, Math.min(ms, MAX_TIMER_MS));
    // Not the property `onabort`: the host's `provide` may set that on the same signal.
    signal?.addEventListener('abort', onAbort);
    work.then(resolve, reject);
  }).finally(() => clearTimeout(timer));
}

/** Do `work` now; ignore what it throws or rejects with. */
export function ignoreFailure(work: () => unknown): void {
  // An async function turns a throw into a rejection.
  (async () => work())().catch(() => {});
}

/**
 * Create the listeners of a session: all get the events in the same order, and one that throws or rejects does not affect the others.
 *
 * @param onThrown  receives what a listener threw or rejected with.
 */
export function createEvents(onThrown: (thrown: unknown) => void) {
  const listeners = new Set<readonly [event: string, listener: (payload: never) => unknown]>();
  return {
    /** Listen; returns the unsubscribe function. */
    on(event: string, listener: (payload: never) => unknown): () => void {
      // A new entry each time, because the same function may listen more than once.
      const entry = [event, listener] as const;
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },

    /**
     * Notify all listeners of `event`, each in its own microtask. Microtasks keep their order, so every listener receives the same
     * sequence, even if a listener causes further events.
     */
    emit(event: string, payload?: unknown): void {
      for (const entry of listeners) {
        if (entry[0] === event)
          Promise.resolve(payload as never)
            // The listener may have been removed meanwhile.
            .then((said) => (listeners.has(entry) ? entry[1](said) : undefined))
            .catch(onThrown);
      }
    },
  };
}
