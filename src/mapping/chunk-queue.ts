/**
 * Wakes the workers of a job: one worker for each chunk of pending rows that the source has filled.
 *
 * It counts rows; the rows themselves are in the database.
 */

export interface ChunkQueue {
  /** Add rows that are pending now. */
  add(count: number): void;
  /** Release an incomplete chunk, because the source is slow. */
  flush(): void;
  /** No more rows will follow: wakes all workers. */
  end(): void;
  readonly isEnded: boolean;
  /** Wait for a full chunk of one's own, for a flush, or for the end. */
  next(): Promise<void>;
}

/** Create an empty queue of chunks of `chunkSize` rows. */
export function createChunkQueue(chunkSize: number): ChunkQueue {
  let ready = 0;
  // Rows that wake a worker.
  let threshold = chunkSize;
  let isEnded = false;
  const waiting: (() => void)[] = [];
  const wake = () => {
    while (waiting.length > 0 && (isEnded || ready >= threshold)) {
      ready = Math.max(0, ready - chunkSize);
      if (ready === 0) threshold = chunkSize;
      waiting.shift()!();
    }
  };
  return {
    add: (count) => {
      ready += count;
      wake();
    },
    flush: () => {
      if (ready > 0) threshold = 1;
      wake();
    },
    end: () => {
      isEnded = true;
      wake();
    },
    get isEnded() {
      return isEnded;
    },
    next: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        wake();
      }),
  };
}
