/** Tracks the operations in flight, so that closing can wait for them: the pool of `pg` does not wait for queued statements. */

import { TokenError } from '../token/index.ts';

export interface OperationTracker {
  /** Run an operation. Rejects with `closed` after `close`. */
  run<T>(operation: () => Promise<T>): Promise<T>;
  /** Reject further operations. Resolves when all that have started are done. */
  close(): Promise<void>;
}

export function createOperationTracker(): OperationTracker {
  const inFlight = new Set<Promise<unknown>>();
  let isClosed = false;
  return {
    run: async (operation) => {
      if (isClosed) throw new TokenError('closed', 'database: expected an open database, got one that has been closed');
      const running = operation();
      inFlight.add(running);
      try {
        return await running;
      } finally {
        inFlight.delete(running);
      }
    },
    close: async () => {
      isClosed = true;
      await Promise.allSettled(inFlight);
    },
  };
}
