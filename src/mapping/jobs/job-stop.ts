/** Stops a job early: when its signal is aborted, or at its first error. */

export type Stop = ReturnType<typeof createStop>;

export function createStop(signal: AbortSignal) {
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
    /** Wait for a promise; resolves with undefined as soon as the job has to stop. */
    orStopped,
    pause: async (ms: number): Promise<void> => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      await orStopped(
        new Promise<void>((resolve) => {
          timer = setTimeout(resolve, ms);
        }),
      );
      clearTimeout(timer);
    },
    /** Stop the job; the first error counts. */
    fail: (error: unknown): void => {
      failure ??= { error };
      stop();
    },
    /** Throw the reason of the signal or the first error. Removes the listener of the signal. */
    throwIfStopped: (): void => {
      signal.removeEventListener('abort', stop);
      signal.throwIfAborted();
      if (failure) throw failure.error;
    },
  };
}
