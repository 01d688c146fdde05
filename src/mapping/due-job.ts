/**
 * Maps the due rows: workers claim them, request their mappings and write the answers.
 */

import { withClaim } from './claim.ts';
import { countDueRows, type DueSelection, isDueRowLeft, lockDueRows } from './due-rows.ts';
import {
  BATCH_SIZE,
  type JobContext,
  type JobOptions,
  LOCK_POLL_MS,
  type RunningJob,
  requestAndWrite,
  runJob,
  runWorkers,
} from './job.ts';
import { indexedTransaction } from './tables.ts';
import type { Summary } from './types.ts';

/** Map one batch of due rows. Returns whether it had any. */
const mapBatch = async (running: RunningJob, selection: DueSelection): Promise<boolean> => {
  const { context, report, stop } = running;
  const rows = await withClaim(context.database, async (claim) => {
    const locked = await claim.step((queries) => lockDueRows(queries, claim, selection, BATCH_SIZE));
    if (locked.length === 0 || stop.isStopped) return [];
    return requestAndWrite(running, claim, { rows: locked, keys: [] });
  });
  await report.addBatch({ read: 0, kept: 0, rows });
  return rows.length > 0;
};

/** Map all due rows, also those that another job has claimed and left as they were. */
export function mapDueRows(context: JobContext, selection: DueSelection, options: JobOptions): Promise<Summary> {
  const { database } = context;
  return runJob(context, options, async (running) => {
    const { report, stop } = running;
    if (options.onProgress)
      report.setTotal(await indexedTransaction(database, (queries) => countDueRows(queries, selection)));
    const runWorker = async (): Promise<void> => {
      let hasRows = true;
      while (hasRows && !stop.isStopped) hasRows = await mapBatch(running, selection);
    };
    const isRowLeft = () => indexedTransaction(database, (queries) => isDueRowLeft(queries, selection));
    for (;;) {
      await runWorkers(running, runWorker);
      if (stop.isStopped || !(await isRowLeft())) return;
      // Not a statement that waits for the lock: it could not be cancelled.
      await stop.pause(LOCK_POLL_MS);
      if (stop.isStopped) return;
    }
  });
}
