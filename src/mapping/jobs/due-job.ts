/** Maps the due rows: workers claim them, request their mappings and write the answers. */

import { claimDueRows, countDueRows, type DueSelection, isDueRowLeft } from '../rows/due-rows.ts';
import { indexedTransaction } from '../rows/tables.ts';
import type { Summary } from '../types.ts';
import {
  BATCH_SIZE,
  type JobContext,
  type JobOptions,
  LOCK_POLL_MS,
  type RunningJob,
  requestAndWrite,
  runClaim,
  runJob,
  runWorkers,
} from './job.ts';

/** `isEmpty`: a worker has found less than a batch, so the others need not look. */
async function mapBatch(running: RunningJob, unclaimed: { readonly selection: DueSelection; isEmpty: boolean }) {
  const { report, stop } = running;
  const rows = await runClaim(running, async (claim) => {
    const claimed = await claim.step(async (queries) => {
      if (unclaimed.isEmpty) return [];
      const found = await claimDueRows(queries, claim, unclaimed.selection, BATCH_SIZE);
      // Within the step: on PGlite the next worker's step begins when this one ends.
      unclaimed.isEmpty ||= found.length < BATCH_SIZE;
      return found;
    });
    if (claimed.length === 0 || stop.isStopped) return [];
    return requestAndWrite(running, claim, { rows: claimed, missing: [] });
  });
  await report.addBatch({ read: 0, kept: 0, rows: rows ?? [] });
}

/** Map all due rows, also those that another job has claimed and left as they were. */
export function mapDueRows(context: JobContext, selection: DueSelection, options: JobOptions): Promise<Summary> {
  const { database } = context;
  return runJob(context, options, async (running) => {
    const { report, stop } = running;
    if (options.onProgress)
      report.setTotal(await indexedTransaction(database, (queries) => countDueRows(queries, selection)));
    const isRowLeft = () => indexedTransaction(database, (queries) => isDueRowLeft(queries, selection));
    for (;;) {
      const unclaimed = { selection, isEmpty: false };
      await runWorkers(running, async () => {
        while (!unclaimed.isEmpty && !stop.isStopped) await mapBatch(running, unclaimed);
      });
      if (stop.isStopped || !(await isRowLeft())) return;
      // Not a statement that waits for the lock: it could not be cancelled.
      await stop.pause(LOCK_POLL_MS);
      if (stop.isStopped) return;
    }
  });
}
