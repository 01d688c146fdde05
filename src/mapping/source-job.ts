/**
 * Maps a source: looks up each batch, requests what is not stored or is due, and writes the answers.
 *
 * Nothing is stored before its answer. Several processes may map the same source at the same time: a batch that another process
 * has locked is put aside, and looked up again when the lock may be free.
 */

import type { Dii, Source } from '../server/index.ts';
import { type BatchQueue, createBatchQueue } from './batch-queue.ts';
import { type JobContext, type JobOptions, type RunningJob, requestAndWrite, runJob, runWorkers } from './job.ts';
import type { Key } from './key.ts';
import type { AnsweredRow } from './mapping-request.ts';
import { type Batch, batchesOf } from './source-batches.ts';
import { inKeyOrder, lockBatch, lockNeeded, type RemapCondition } from './source-rows.ts';
import { indexedTransaction } from './tables.ts';
import type { Summary } from './types.ts';

/** The source of a job. */
export interface JobSource {
  readonly items: Source<Dii>;
  /** Read at each use: the first answer corrects its times. */
  remapCondition(): RemapCondition;
}

/** What a transaction has done with the keys of a batch. */
interface MappedKeys {
  readonly rows: readonly AnsweredRow[];
  /** Number of keys that were requested. */
  readonly requested: number;
  readonly lockedElsewhere: readonly Key[];
}

/** Map the keys of a batch in one transaction. */
const mapKeys = (running: RunningJob, keys: readonly Key[], condition: RemapCondition): Promise<MappedKeys> =>
  indexedTransaction(running.context.database, async (queries) => {
    if (!(await lockBatch(queries, keys))) return { rows: [], requested: 0, lockedElsewhere: keys };
    const { missing, rows: locked, lockedElsewhere } = await lockNeeded(queries, keys, condition);
    const requested = locked.length + missing.length;
    if (requested === 0 || running.stop.isStopped) return { rows: [], requested, lockedElsewhere };
    const rows = await requestAndWrite(running, queries, { rows: locked, keys: missing });
    return { rows, requested, lockedElsewhere };
  });

/** Map a batch, and put aside the keys that another transaction has locked. */
const mapBatch = async (running: RunningJob, source: JobSource, batch: Batch, queue: BatchQueue): Promise<void> => {
  const { report, stop } = running;
  const { read, keys } = batch;
  if (keys.length === 0) return report.addBatch({ read, kept: 0, rows: [] });
  const { rows, requested, lockedElsewhere } = await mapKeys(running, inKeyOrder(keys), source.remapCondition());
  if (stop.isStopped && rows.length === 0) return;
  const aside = lockedElsewhere.length;
  if (aside > 0) queue.putAside({ read: aside, keys: lockedElsewhere });
  await report.addBatch({ read: read - aside, kept: keys.length - aside - requested, rows });
};

/** Map every item of a source. If the source fails, the items before are mapped first. */
export function mapSource(context: JobContext, source: JobSource, options: JobOptions): Promise<Summary> {
  return runJob(context, options, async (running) => {
    const { report, stop, batchSize } = running;
    const queue = createBatchQueue(
      batchesOf(source.items, { size: batchSize, onInvalid: report.addInvalid, stop }),
      stop,
    );
    await runWorkers(running, async () => {
      for (;;) {
        const batch = await queue.next();
        if (!batch) return;
        await mapBatch(running, source, batch, queue);
      }
    });
    queue.close();
  });
}
