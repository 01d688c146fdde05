/** Hands out the batches of a source to the workers of a job, and once more those that a worker has put aside. */

import { LOCK_POLL_MS } from './job.ts';
import type { Stop } from './job-stop.ts';
import type { Batch } from './source-batches.ts';

/** With so many batches put aside, the source is not read further, so that memory stays bounded. */
const MAX_ASIDE = 16;

export type BatchQueue = ReturnType<typeof createBatchQueue>;

/** Nothing cancels a source that never produces its next item, but a job that stops does not wait for it. */
export function createBatchQueue(batches: AsyncGenerator<Batch, void, undefined>, stop: Stop) {
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
    /** The next batch; undefined if there is none, or if the job has to stop. */
    next: async (): Promise<Batch | undefined> => {
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
    /** Hand out a batch again after {@link LOCK_POLL_MS}. */
    putAside: (batch: Batch): void => {
      aside.push({ batch, retryAt: performance.now() + LOCK_POLL_MS });
    },
    /** Close the source. If it has failed, the job fails with its error. */
    close: (): void => {
      if (failure) stop.fail(failure.error);
      batches.return().catch(() => {});
    },
  };
}
