/**
 * What all jobs have in common. `source-job.ts` maps a source, `due-job.ts` the due rows.
 *
 * A job works in batches. Lock, request and write of a batch are one transaction, so a job may be killed at any point: a row is
 * either unchanged or holds the whole answer of the service, and the database releases the locks at once.
 */

import type { Database, Queries } from '../database/index.ts';
import { createJobReport, type JobReport } from './job-report.ts';
import { createStop, type Stop } from './job-stop.ts';
import type { Key } from './key.ts';
import type { AnsweredRow, RequestMappings } from './mapping-request.ts';
import { keepCheckedFrom } from './rotated-buckets.ts';
import { countRewritten } from './stored-rows.ts';
import type { DueOptions, Summary } from './types.ts';
import { insertRows, type LockedRow, updateRows } from './write-answers.ts';

/** Keys in one request and one statement. */
const BATCH_SIZE = 5_000;

/** Time between two attempts to lock rows that another process has locked, ms. */
export const LOCK_POLL_MS = 1_000;

/** What all jobs of a store use. */
export interface JobContext {
  readonly database: Database;
  readonly requestMappings: RequestMappings;
  /** Number of batches in flight. */
  readonly workers: number;
}

/** The options of a job. There is always a signal. */
export interface JobOptions extends Pick<DueOptions, 'onProgress' | 'onInvalid'> {
  readonly signal: AbortSignal;
}

/** A job that is running. */
export interface RunningJob {
  readonly context: JobContext;
  readonly signal: AbortSignal;
  readonly report: JobReport;
  readonly stop: Stop;
  /** Number of transactions at the same time. */
  readonly workerCount: number;
  /** Number of keys in one transaction. */
  readonly batchSize: number;
}

/** What a transaction asks the service for. */
export interface Requested {
  /** Stored rows, locked by the transaction. */
  readonly rows: readonly LockedRow[];
  /** Keys that are not stored, in the order of the primary key. */
  readonly keys: readonly Key[];
}

/**
 * Request mappings and write each answer as it arrives, while the service works on the next. The last step of the transaction
 * that has locked the rows.
 *
 * @returns the answers that were written. If the service fails, the job stops, but the answers before the failure count.
 */
export async function requestAndWrite(
  { context, signal, stop }: RunningJob,
  queries: Queries,
  { rows: locked, keys }: Requested,
): Promise<readonly AnsweredRow[]> {
  const { database, requestMappings } = context;
  // PGlite has one connection.
  const concurrency = database.kind === 'pglite' ? 'alone' : 'concurrent';
  const written: AnsweredRow[] = [];
  for await (const { rows, latestAt, failure } of requestMappings([...locked, ...keys], signal)) {
    // Before the locks end: a worker that gets the same rows then does not request them again.
    if (failure) stop.fail(failure.error);
    const awaiting = locked.slice(written.length, written.length + rows.length);
    const updated = rows.slice(0, awaiting.length);
    const inserted = rows.slice(awaiting.length);
    if (updated.length > 0) await updateRows(queries, awaiting, updated, latestAt);
    if (inserted.length > 0) await insertRows(queries, inserted, latestAt, concurrency);
    for (const row of rows) written.push(row);
  }
  // Here and not at the end of the job, which may fail or be killed. On PostgreSQL the workers would wait for each other.
  const rewritten = Math.min(locked.length, written.length);
  if (database.kind === 'pglite' && rewritten > 0) await countRewritten(queries, rewritten);
  // A loop: Math.min(...values) fails for many thousand values.
  let oldest = Number.POSITIVE_INFINITY;
  for (const { bucketId, answeredAt } of written) if (bucketId !== null) oldest = Math.min(oldest, answeredAt);
  if (oldest < Number.POSITIVE_INFINITY) await keepCheckedFrom(queries, oldest);
  return written;
}

/**
 * Run a job to its end.
 *
 * @param work  does all work of the job, and ends soon after `stop` says so, with all its transactions.
 * @throws the first failure, or the reason of the signal.
 */
export async function runJob(
  context: JobContext,
  options: JobOptions,
  work: (running: RunningJob) => Promise<void>,
): Promise<Summary> {
  const { signal } = options;
  signal.throwIfAborted();
  const { database, workers } = context;
  // PGlite runs one transaction at a time: it processes in one batch what PostgreSQL processes in several.
  const [workerCount, batchSize] = database.kind === 'pglite' ? [1, workers * BATCH_SIZE] : [workers, BATCH_SIZE];
  const stop = createStop(signal);
  const report = createJobReport(options);
  await work({ context, signal, report, stop, workerCount, batchSize }).catch(stop.fail);
  stop.throwIfStopped();
  return report.summary();
}

/** Run `worker` once for each transaction that may run at the same time. All of them end, whichever fails. */
export async function runWorkers({ workerCount, stop }: RunningJob, worker: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: workerCount }, () => worker().catch(stop.fail)));
}
