/**
 * What all jobs have in common: batches, each with a claim: look up, request, write. A job may be killed at any point: a row is
 * either unchanged or holds the whole answer of the service.
 */

import type { Database, Queries } from '../../database/index.ts';
import { type Claim, withClaim } from '../rows/claim.ts';
import type { Key } from '../rows/key.ts';
import type { AnsweredRow, RequestMappings } from '../rows/mapping-request.ts';
import { keepCheckedFrom } from '../rows/rotated-buckets.ts';
import { countRewritten } from '../rows/stored-rows.ts';
import { type ClaimedRow, insertRows, updateRows } from '../rows/write-answers.ts';
import type { DueOptions, Summary } from '../types.ts';
import type { TakeSlot } from './claim-slots.ts';
import { createJobReport, type JobReport } from './job-report.ts';
import { createStop, type Stop } from './job-stop.ts';

export const BATCH_SIZE = 5_000;

/** Time between two attempts to claim what another job has claimed, ms. */
export const LOCK_POLL_MS = 1_000;

export interface JobContext {
  readonly database: Database;
  readonly requestMappings: RequestMappings;
  readonly workers: number;
  readonly takeSlot: TakeSlot;
}

export interface JobOptions extends Pick<DueOptions, 'onProgress' | 'onInvalid'> {
  readonly signal: AbortSignal;
}

export interface RunningJob {
  readonly context: JobContext;
  readonly signal: AbortSignal;
  readonly report: JobReport;
  readonly stop: Stop;
}

export interface Requested {
  readonly rows: readonly ClaimedRow[];
  /** Keys that are not stored, in the order of the primary key. */
  readonly missing: readonly Key[];
}

/** Run `work` with a claim, once the store has a slot for it. Undefined if the job has to stop before. */
export async function runClaim<T>(
  { context: { database, takeSlot }, stop }: RunningJob,
  work: (claim: Claim) => Promise<T>,
): Promise<T | undefined> {
  const slot = takeSlot();
  const release = await stop.orStopped(slot);
  if (!release) {
    slot.then((releaseUnused) => releaseUnused());
    return undefined;
  }
  try {
    return await withClaim(database, work);
  } finally {
    release();
  }
}

/** The last step of a claim. Returns the answers written: if the service fails, the job stops, but those before count. */
export async function requestAndWrite(
  { context, signal, stop }: RunningJob,
  claim: Claim,
  { rows: claimed, missing }: Requested,
): Promise<readonly AnsweredRow[]> {
  const { rows, latestAt, failure } = await context.requestMappings([...claimed, ...missing], signal);
  // Before the claim ends, so that no other worker of the job requests the same rows again. The same after a failed write.
  if (failure) stop.fail(failure.error);
  if (rows.length === 0) return rows;
  const updated = rows.slice(0, claimed.length);
  const inserted = rows.slice(claimed.length);
  // A loop: Math.min(...values) fails for many thousand values.
  let oldest = Number.POSITIVE_INFINITY;
  for (const { bucketId, answeredAt } of rows) if (bucketId !== null) oldest = Math.min(oldest, answeredAt);
  const write = async (queries: Queries): Promise<void> => {
    if (updated.length > 0) await updateRows(queries, claim, claimed, updated, latestAt);
    if (inserted.length > 0) await insertRows(queries, claim, inserted, latestAt);
    // Here and not at the end of the job, which may fail or be killed.
    await countRewritten(queries, claim, updated.length);
    if (oldest < Number.POSITIVE_INFINITY) await keepCheckedFrom(queries, oldest);
  };
  try {
    await claim.step(write);
  } catch (error) {
    stop.fail(error);
    throw error;
  }
  return rows;
}

/** `work` ends, with all its claims, soon after `stop` says so. @throws the first failure, or the reason of the signal. */
export async function runJob(
  context: JobContext,
  options: JobOptions,
  work: (running: RunningJob) => Promise<void>,
): Promise<Summary> {
  const { signal } = options;
  signal.throwIfAborted();
  const stop = createStop(signal);
  const report = createJobReport(options);
  await work({ context, signal, report, stop }).catch(stop.fail);
  stop.throwIfStopped();
  return report.summary();
}

/** Run `worker` once for each batch that may be in flight. All of them end, whichever fails. */
export async function runWorkers({ context, stop }: RunningJob, worker: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: context.workers }, () => worker().catch(stop.fail)));
}
