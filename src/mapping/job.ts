/**
 * Runs a job: it stores the items of a source as pending, while workers claim pending rows, request their mappings and write
 * the answers. A due run is a job without a source.
 *
 * Claim, request and write are one transaction, so a job may be killed at any point: a row is either unchanged or holds the
 * whole answer of the service.
 */

import { createOperationTracker, type Database, type OperationTracker, type Queries } from '../database/index.ts';
import type { Dii, Source } from '../server/index.ts';
import { type ChunkQueue, createChunkQueue } from './chunk-queue.ts';
import {
  addPending,
  claimRows,
  countRows,
  isRowSelected,
  type RemapCondition,
  type RowSelection,
  writeAnswers,
} from './job-rows.ts';
import { createStop, type Stop } from './job-stop.ts';
import { diiOf, type Key } from './key.ts';
import type { AnsweredRow, RequestMappings } from './mapping-request.ts';
import { keepCheckedFrom } from './rotated-buckets.ts';
import { BATCH_SIZE, batchesOf } from './source-batches.ts';
import { countWritten } from './stored-rows.ts';
import { indexedTransaction } from './tables.ts';
import type { DueOptions, Invalid, Summary } from './types.ts';

/** Time between two attempts to lock rows that another process has locked, ms. */
const CLAIM_POLL_MS = 1_000;

/** What all jobs of a store use. */
export interface JobContext {
  readonly database: Database;
  readonly requestMappings: RequestMappings;
  /** Number of batches in flight. */
  readonly workers: number;
}

/** What a job has to do. */
export interface Job extends Pick<DueOptions, 'onProgress' | 'onInvalid'> {
  readonly source?: { readonly items: Source<Dii>; remapCondition(): RemapCondition };
  readonly selection: RowSelection;
  readonly signal: AbortSignal;
}

/** The counts of a job, which it reports to the caller. */
const createReport = ({ source, onProgress, onInvalid }: Job) => {
  const counts = { read: 0, kept: 0, mapped: 0, optedOut: 0, invalid: 0 };
  // Rows that were selected when the job began: all rows of a due run, or the rows that an earlier run has left pending.
  let selected = 0;
  // The source holds the rows of an earlier run too. They count by their answer, not as kept.
  const summary = (): Summary => (source ? { ...counts, kept: Math.max(0, counts.kept - selected) } : { ...counts });
  const progress = (): void => onProgress?.({ ...summary(), ...(!source && { total: selected }) });
  const addInvalid = async (found: Invalid): Promise<void> => {
    counts.invalid++;
    await onInvalid?.(found);
  };
  return {
    summary,
    addInvalid,
    setSelected: (count: number) => {
      selected = count;
    },
    addRead: (read: number, kept: number): void => {
      counts.read += read;
      counts.kept += kept;
      if (read > 0) progress();
    },
    addAnswers: async (rows: readonly AnsweredRow[]): Promise<void> => {
      for (const row of rows) {
        if (row.state !== 'invalid') counts[row.state]++;
        else await addInvalid({ dii: diiOf(row), index: undefined, reason: row.reason! });
      }
      progress();
    },
  };
};

/** A job that is running. */
interface RunningJob {
  readonly context: JobContext;
  readonly job: Job;
  /** Rows that one transaction claims. */
  readonly chunkSize: number;
  readonly queue: ChunkQueue;
  readonly report: ReturnType<typeof createReport>;
  readonly stop: Stop;
  /** The transactions of the source: the job does not wait for the source itself when it stops. */
  readonly storing: OperationTracker;
}

/** Store keys as pending. Returns the number of rows to request. */
const storeKeys = async (
  { context: { database }, queue, stop, storing }: RunningJob,
  keys: readonly Key[],
  condition: RemapCondition,
): Promise<number> => {
  if (keys.length === 0) return 0;
  let count = 0;
  for (;;) {
    const { requested, locked } = await storing.run(() =>
      indexedTransaction(database, (queries) => addPending(queries, keys, condition)),
    );
    count += requested;
    if (stop.isStopped) return count;
    queue.add(requested);
    if (locked === 0) return count;
    // Whoever has locked them may answer them, or leave them as they are.
    queue.flush();
    await stop.pause(CLAIM_POLL_MS);
    if (stop.isStopped) return count;
  }
};

/** Store the items of the source as pending. */
const readSource = async (running: RunningJob): Promise<void> => {
  const { source } = running.job;
  const { queue, report, stop } = running;
  if (!source) return;
  for await (const { read, keys, isEarly } of batchesOf(source.items, report.addInvalid, stop)) {
    if (stop.isStopped) return;
    const requested = await storeKeys(running, keys, source.remapCondition());
    if (stop.isStopped) return;
    if (isEarly) queue.flush();
    report.addRead(read, keys.length - requested);
  }
};

/** Claim a chunk, request its mappings and write them. */
const answerChunk = async (
  { context, job: { selection, signal }, chunkSize, stop }: RunningJob,
  queries: Queries,
): Promise<{ readonly claimed: number; readonly rows: readonly AnsweredRow[] }> => {
  const { database, requestMappings } = context;
  const claimed = await claimRows(queries, selection, chunkSize);
  if (claimed.length === 0 || stop.isStopped) return { claimed: 0, rows: [] };
  const answered = await requestMappings(claimed, signal);
  const { rows, failure } = answered;
  if (failure) stop.fail(failure.error);
  if (rows.length > 0) await writeAnswers(queries, claimed, answered);
  // Here and not at the end of the job, which may fail or be killed. On PostgreSQL the workers would wait for each other.
  if (database.kind === 'pglite') await countWritten(queries, rows.length);
  const inBuckets = rows.filter(({ bucketId }) => bucketId !== null);
  // A loop: Math.min(...values) fails for many thousand values.
  const oldest = inBuckets.reduce((at, { answeredAt }) => Math.min(at, answeredAt), Number.POSITIVE_INFINITY);
  if (inBuckets.length > 0) await keepCheckedFrom(queries, oldest);
  // The transaction commits: it keeps the batches before a failed one.
  return { claimed: claimed.length, rows };
};

/** Process a chunk in one transaction. Returns the number of rows claimed. */
const processChunk = async (running: RunningJob): Promise<number> => {
  const { context, report, stop } = running;
  const { claimed, rows } = await indexedTransaction(context.database, async (queries) => {
    try {
      return await answerChunk(running, queries);
    } catch (error) {
      // Before the claim ends, as for a failed request: a worker that claims the same rows then does not request them again.
      stop.fail(error);
      throw error;
    }
  });
  if (rows.length > 0) await report.addAnswers(rows);
  return claimed;
};

/** Process chunks until the source has ended and no selected row is free. */
const runWorker = async (running: RunningJob): Promise<void> => {
  const { chunkSize, queue, stop } = running;
  // Rows that earlier runs have left pending come first; they are not in the queue.
  let hasLeftovers = true;
  while (!stop.isStopped) {
    if (!hasLeftovers) await queue.next();
    const { isEnded } = queue;
    const claimed = await processChunk(running);
    if (isEnded && claimed === 0) return;
    hasLeftovers &&= claimed === chunkSize;
  }
};

/** Run workers until no selected row is left, not even one that another process has claimed and released. */
const runWorkers = async (running: RunningJob, count: number): Promise<void> => {
  const { context, job, stop } = running;
  const isRowLeft = (): Promise<boolean> =>
    indexedTransaction(context.database, (queries) => isRowSelected(queries, job.selection));
  for (;;) {
    await Promise.all(Array.from({ length: count }, () => runWorker(running).catch(stop.fail)));
    if (stop.isStopped || !(await isRowLeft())) return;
    // Not a statement that waits for the lock: it could not be cancelled.
    await stop.pause(CLAIM_POLL_MS);
    if (stop.isStopped) return;
  }
};

/**
 * Run a job to its end.
 *
 * @throws the first failure, after all transactions in flight have ended, or the reason of the signal.
 */
export async function runJob(context: JobContext, job: Job): Promise<Summary> {
  const { database, workers } = context;
  job.signal.throwIfAborted();
  // PGlite runs one transaction at a time: it processes in one chunk what PostgreSQL processes in several.
  const [workerCount, chunkSize] = database.kind === 'pglite' ? [1, workers * BATCH_SIZE] : [workers, BATCH_SIZE];
  const stop = createStop(job.signal);
  const report = createReport(job);
  const storing = createOperationTracker();
  const running: RunningJob = { context, job, chunkSize, queue: createChunkQueue(chunkSize), report, stop, storing };
  try {
    if (job.source || job.onProgress)
      report.setSelected(await indexedTransaction(database, (queries) => countRows(queries, job.selection)));
    // A source that never produces its next item cannot be cancelled, but the job need not wait for it.
    const reading = Promise.race([readSource(running), stop.stopped])
      .catch(stop.fail)
      .finally(running.queue.end);
    await Promise.all([reading, runWorkers(running, workerCount).catch(stop.fail)]);
  } catch (error) {
    stop.fail(error);
  }
  await storing.close();
  stop.throwIfStopped();
  return report.summary();
}
