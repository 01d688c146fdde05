/**
 * Hands out the batches of a source to the workers of a job, and once more those that a worker has put aside.
 */

import { LOCK_POLL_MS } from './job.ts';
import type { Stop } from './job-stop.ts';
import type { Batch } from './source-batches.ts';

/** Most batches put aside. With so many, the source is not read on: memory stays bounded. */
const MAX_ASIDE = 16;

export interface BatchQueue {
  /** The next batch; undefined if there is none, or if the job has to stop. */
  next(): Promise<Batch | undefined>;
  /** Hand out a batch again after {@link LOCK_POLL_MS}. */
  putAside(batch: Batch): void;
  /** Close the source. If it has failed, the job fails with its error. */
  close(): void;
}

/** Create the queue of one job. A source that never produces its next item cannot be cancelled, but nothing waits for it then. */
export function createBatchQueue(batches: AsyncGenerator<Batch, void, undefined>, stop: Stop): BatchQueue {
  const aside: { readonly batch: Batch; readonly retryAt: number }[] = [];
  let isEnded = false;
  let failure: { readonly error: unknown } | undefined;
  /** Read the next batch. A failure of the source waits until the batches before it are mapped. */
  const read = async (): Promise<Batch | undefined> => {
    try {
      const result = await stop.orStopped(batches.next());
      if (result && !result.done) return result.value;
    } catch (error) {
      failure ??= { error };
    }
    isEnded = true;
    return undefined;
  };
  return {
    next: async () => {
      while (!stop.isStopped) {
        const [oldest] = aside;
        if (oldest && oldest.retryAt <= performance.now()) return aside.shift()!.batch;
        if (!isEnded && aside.length < MAX_ASIDE) {
          const batch = await read();
          if (batch && !stop.isStopped) return batch;
        } else if (oldest) await stop.pause(oldest.retryAt - performance.now());
        else return undefined;
      }
      return undefined;
    },
    putAside: (batch) => {
      aside.push({ batch, retryAt: performance.now() + LOCK_POLL_MS });
    },
    close: () => {
      if (failure) stop.fail(failure.error);
      batches.return().catch(() => {});
    },
  };
}
