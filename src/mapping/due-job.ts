/**
 * Maps the due rows: workers lock them, request their mappings and write the answers.
 */

import { countDueRows, type DueSelection, isDueRowLeft, lockDueRows } from './due-rows.ts';
import {
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
  const { context, report, stop, batchSize } = running;
  const rows = await indexedTransaction(context.database, async (queries) => {
    const locked = await lockDueRows(queries, selection, batchSize);
    if (locked.length === 0 || stop.isStopped) return [];
    try {
      return await requestAndWrite(running, queries, { rows: locked, keys: [] });
    } catch (error) {
      // Before the locks end: a worker that gets the same rows then does not request them again.
      stop.fail(error);
      throw error;
    }
  });
  await report.addBatch({ read: 0, kept: 0, rows });
  return rows.length > 0;
};

/** Map all due rows, also those that another process has locked and left as they were. */
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
