/**
 * Maps a source: looks up each batch, requests what is not stored or is due, and writes the answers. Nothing is stored before its
 * answer. Jobs may share a source: what another has claimed is put aside and looked up again a second later.
 */

import type { Dii, Source } from '../../server/index.ts';
import type { Key } from '../rows/key.ts';
import { claimNeeded, inKeyOrder, type RemapCondition } from '../rows/source-rows.ts';
import type { Summary } from '../types.ts';
import { type BatchQueue, createBatchQueue } from './batch-queue.ts';
import {
  BATCH_SIZE,
  type JobContext,
  type JobOptions,
  type RunningJob,
  requestAndWrite,
  runClaim,
  runJob,
  runWorkers,
} from './job.ts';
import { type Batch, batchesOf } from './source-batches.ts';

export interface JobSource {
  readonly items: Source<Dii>;
  /** Read at each use: the first answer corrects its times. */
  remapCondition(): RemapCondition;
}

/** Map the keys of a batch. Undefined if the job has to stop before it begins. */
function mapKeys(running: RunningJob, keys: readonly Key[], condition: RemapCondition) {
  return runClaim(running, async (claim) => {
    const needed = await claim.step((queries) => claimNeeded(queries, claim, keys, condition));
    const requested = needed.rows.length + needed.missing.length;
    const isIdle = requested === 0 || running.stop.isStopped;
    const rows = isIdle ? [] : await requestAndWrite(running, claim, needed);
    return { rows, requested, claimedElsewhere: needed.claimedElsewhere };
  });
}

async function mapBatch(running: RunningJob, source: JobSource, batch: Batch, queue: BatchQueue): Promise<void> {
  const { report, stop } = running;
  const { read, keys } = batch;
  if (keys.length === 0) return report.addBatch({ read, kept: 0, rows: [] });
  const mapped = await mapKeys(running, inKeyOrder(keys), source.remapCondition());
  if (!mapped) return;
  const { rows, requested, claimedElsewhere } = mapped;
  if (stop.isStopped && rows.length === 0) return;
  const aside = claimedElsewhere.length;
  if (aside > 0) queue.putAside({ read: aside, keys: claimedElsewhere });
  await report.addBatch({ read: read - aside, kept: keys.length - aside - requested, rows });
}

/** Map every item of a source. If the source fails, the batches before are mapped first. */
export function mapSource(context: JobContext, source: JobSource, options: JobOptions): Promise<Summary> {
  return runJob(context, options, async (running) => {
    const { report, stop } = running;
    const queue = createBatchQueue(
      batchesOf(source.items, { size: BATCH_SIZE, onInvalid: report.addInvalid, stop }),
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
