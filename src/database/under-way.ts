/** What is under way at a database, so that closing can wait for it. pg's pool forgets about whoever still queues. */

import { TokenError } from '../token/index.ts';

export interface UnderWay {
  /** Do a piece of work. Rejects with `closed` after `end`. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Let nothing more begin; resolves when all that has begun is over. */
  end(): Promise<void>;
}

export function underWay(): UnderWay {
  const begun = new Set<Promise<unknown>>();
  let ended = false;
  return {
    run: async (work) => {
      if (ended) throw new TokenError('closed', 'database: closed');
      const piece = work();
      begun.add(piece);
      try {
        return await piece;
      } finally {
        begun.delete(piece);
      }
    },
    end: async () => {
      ended = true;
      await Promise.allSettled(begun);
    },
  };
}
