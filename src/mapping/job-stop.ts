/**
 * Stops a job early: when its signal is aborted, or at its first error.
 */

/** Whether and why a job stops early. */
export interface Stop {
  readonly isStopped: boolean;
  /** Resolves when the job has to stop. */
  readonly stopped: Promise<void>;
  /** Wait, but no longer than until the job has to stop. */
  pause(ms: number): Promise<void>;
  /** Stop the job; the first error counts. */
  fail(error: unknown): void;
  /** Throw the reason of the signal or the first error. Removes the listener of the signal. */
  throwIfStopped(): void;
}

/** Create the stop of one job. `signal` stops it too. */
export function createStop(signal: AbortSignal): Stop {
  let failure: { readonly error: unknown } | undefined;
  let stop = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
  });
  signal.addEventListener('abort', stop, { once: true });
  return {
    get isStopped() {
      return failure !== undefined || signal.aborted;
    },
    stopped,
    pause: async (ms) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const elapsed = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, ms);
      });
      await Promise.race([elapsed, stopped]);
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
