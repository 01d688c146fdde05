/**
 * Stops a job early: when its signal is aborted, or at its first error.
 */

export interface Stop {
  readonly isStopped: boolean;
  /** Wait for a promise, but no longer than until the job has to stop: then for undefined. */
  orStopped<T>(promise: Promise<T>): Promise<T | undefined>;
  pause(ms: number): Promise<void>;
  /** Stop the job; the first error counts. */
  fail(error: unknown): void;
  /** Throw the reason of the signal or the first error. Removes the listener of the signal. */
  throwIfStopped(): void;
}

/** Create the stop of one job. `signal` stops it too. */
export function createStop(signal: AbortSignal): Stop {
  let failure: { readonly error: unknown } | undefined;
  const listeners = new Set<() => void>();
  const stop = () => {
    for (const listener of listeners) listener();
  };
  const isStopped = () => failure !== undefined || signal.aborted;
  signal.addEventListener('abort', stop, { once: true });
  // Not a `Promise.race` with one promise for the whole job: that would keep the values of all races.
  const orStopped = <T>(promise: Promise<T>): Promise<T | undefined> =>
    new Promise((resolve, reject) => {
      const onStop = () => resolve(undefined);
      listeners.add(onStop);
      promise.then(resolve, reject).finally(() => listeners.delete(onStop));
      if (isStopped()) onStop();
    });
  return {
    get isStopped() {
      return isStopped();
    },
    orStopped,
    pause: async (ms) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      await orStopped(
        new Promise<void>((resolve) => {
          timer = setTimeout(resolve, ms);
        }),
      );
      clearTimeout(timer);
    },
    fail: (error) => {
      failure ??= { error };
      stop();
    },
    throwIfStopped: () => {
      signal.removeEventListener('abort', stop);
      signal.throwIfAborted();
      if (failure) throw failure.error;
    },
  };
}
