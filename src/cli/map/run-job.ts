/**
 * Runs a long job of `tessera map`: opens the mappings, shows progress on the terminal, stops at a signal, and prints a summary
 * however the job ends.
 *
 * This file does not know the work of a job: `map-file.ts` and `stored-mappings.ts` define the jobs.
 */

import { CommanderError } from 'commander';
import {
  createMappings,
  type DueOptions,
  type MappingClient,
  type Mappings,
  type Progress,
  type Summary,
} from '../../mapping/index.ts';
import { isTokenError } from '../../token/index.ts';
import { announceNewDatabase } from '../existing-database.ts';
import { type Io, STOPPED } from '../io.ts';
import { createProgressLine, formatDuration, formatNumber, type ProgressLine } from '../progress.ts';
import { type Connection, connectionOf, createConnected, type ServiceOptions } from '../service-options.ts';
import { aligned, coloursOf } from '../style.ts';

/** The options of all jobs of `map`. */
export interface MapOptions extends ServiceOptions {
  /** Location of the mappings. */
  readonly database: string;
  readonly v2?: boolean;
  readonly workers?: number;
}

/** Open the mappings that the options specify. */
export function openMappings(client: MappingClient, { database, v2, workers }: MapOptions): Promise<Mappings> {
  return createMappings({ client, database, version: v2 ? 2 : 3, workers });
}

/** A method that a long job calls. */
type ProbedMethod = 'mapIdentities' | 'mapIdentitiesV2';

/** One job. */
export interface Job {
  /** The client method to probe before the database is opened; none if the job sends one request at a time. */
  readonly probed?: ProbedMethod;
  /** Open the output of the job. Called after the probe, so that a wrong key changes no file. */
  open?(): Promise<void>;
  run(mappings: Mappings, options: Required<Pick<DueOptions, 'signal' | 'onProgress'>>): Promise<Summary>;
  /** The completed share, in any unit; `total` is undefined if unknown. */
  progressOf(progress: Progress): { readonly rows: number; readonly done: number; readonly total: number | undefined };
  /** The counts of the summary, in the order of output. */
  countsOf(summary: Summary): Readonly<Record<string, number>>;
  /** A file that the job has written: its name in the summary, and its path if there is one. */
  readonly file?: { readonly name: string; readonly path: () => string | undefined };
  /** Throw if the job has ended without one useful item. */
  assertUseful?(): void;
  /** What an interrupted run leaves behind, and how to continue. */
  readonly resumeHint: string;
  /** Release resources; called before the summary is printed. */
  close?(): Promise<void>;
}

/** The hint of jobs that continue where they stopped. */
export const CONTINUES = 'the rows mapped so far are stored: run the same command again to continue';

const NO_PROGRESS: Progress = { read: 0, kept: 0, mapped: 0, optedOut: 0, invalid: 0 };

const LABELS: Readonly<Record<string, string>> = { optedOut: 'opted out', kept: 'stored already' };

/** How a job has ended. */
interface Outcome {
  readonly isDone: boolean;
  readonly summary: Summary;
  readonly ms: number;
}

/** The rows of the table that a terminal shows. */
const tableOf = (counts: Readonly<Record<string, number>>, ms: number, io: Io): string[] => {
  const { bold, yellow, dim } = coloursOf(io, 'out');
  const rows = Object.entries(counts).map(([name, count]) => [LABELS[name] ?? name, formatNumber(count)] as const);
  const isWarning = (name: string): boolean => name === 'rejected' && counts.rejected !== 0;
  return aligned([...rows, ['time', formatDuration(ms)]]).map((line, index) => {
    const name = rows[index]?.[0];
    if (name === undefined) return dim(line);
    return isWarning(name) ? yellow(line) : name === 'mapped' ? bold(line) : line;
  });
};

const printSummary = (job: Job, { isDone, summary, ms }: Outcome, { json }: MapOptions, io: Io): void => {
  const { out } = io;
  const counts = job.countsOf(summary);
  const path = job.file?.path();
  if (json) {
    const file = job.file && { [job.file.name]: path ?? null };
    out(JSON.stringify({ done: isDone, ...counts, ...file, seconds: Math.round(ms / 100) / 10 }));
    return;
  }
  const parts = Object.entries(counts).map(([name, count]) => `${LABELS[name] ?? name}: ${formatNumber(count)}`);
  if (io.outIsTerminal) for (const line of tableOf(counts, ms, io)) out(line);
  else out(`${parts.join(', ')}; ${formatDuration(ms)}`);
  if (path !== undefined) out(`${job.file!.name}: ${path}`);
};

// Every operator knows this identity and never opts it out (docs/protocol.md, "Opt-out").
const RESERVED = { email: 'validate@example.com' };

// Failures that the job itself retries.
const isLeftToJob = (error: unknown): boolean =>
  isTokenError(error) && (error.code === 'timeout' || error.code === 'rate_limited' || (error.status ?? 0) >= 500);

/**
 * Send one request before a long job, so that a wrong address, key, role, secret or clock fails before the job creates anything.
 *
 * @throws {TokenError} an error that would make every request of the job fail. A time-out, a 429 or a 5xx is left to the retries
 *   of the job.
 */
const probe = async (
  method: ProbedMethod,
  connection: Connection,
  flags: ServiceOptions,
  signal: AbortSignal,
): Promise<void> => {
  const client = createConnected(connection, flags, { retry: { tries: 1 } });
  try {
    await client[method]([RESERVED], { signal }).toArray();
  } catch (error) {
    if (!isLeftToJob(error)) throw error;
  }
};

/** Call all functions, even if one of them fails. Returns the first failure. */
const closeAll = async (closes: readonly (() => unknown)[]): Promise<unknown> => {
  let failure: unknown;
  for (const close of closes)
    try {
      await close();
    } catch (error) {
      failure ??= error;
    }
  return failure;
};

/** End a command that a signal has stopped. */
export function throwStopped(io: Io): never {
  io.err('stopped');
  throw new CommanderError(STOPPED, 'tessera.stopped', 'stopped');
}

/**
 * Run a job until it ends, fails, or a signal stops it.
 *
 * @param prepare  checks the options and the input, before the database is opened.
 */
export async function runJob(
  options: MapOptions,
  io: Io,
  prepare: (signal: AbortSignal) => Promise<Job>,
): Promise<void> {
  const connection = connectionOf(options, io);
  const client = createConnected(connection, options);
  const controller = new AbortController();
  const { signal } = controller;
  io.stopped().then(() => controller.abort());
  const startedAt = performance.now();
  let summary: Progress = NO_PROGRESS;
  let job: Job | undefined;
  let mappings: Mappings | undefined;
  let failure: unknown;
  let line: ProgressLine | undefined;
  try {
    job = await prepare(signal);
    if (job.probed) await probe(job.probed, connection, options, signal);
    await job.open?.();
    await announceNewDatabase(options.database, io);
    line = createProgressLine('rows', io);
    const { show } = line;
    mappings = await openMappings(client, options);
    const { progressOf } = job;
    const onProgress = (progress: Progress): void => {
      summary = progress;
      const { rows, done, total } = progressOf(progress);
      show(rows, done, total);
    };
    summary = await job.run(mappings, { signal, onProgress });
  } catch (error) {
    failure = error ?? new Error('map: expected an error, got none');
  }
  const closeFailure = await closeAll([() => line?.stop(), () => mappings?.close(), () => job?.close?.()]);
  failure ??= closeFailure;
  const outcome = { isDone: failure === undefined, summary, ms: performance.now() - startedAt };
  if (job && mappings) printSummary(job, outcome, options, io);
  if (failure === undefined) return job?.assertUseful?.();
  const isResumable = summary.mapped + summary.optedOut > 0 || (signal.aborted && summary.read > 0);
  if (job && isResumable) io.err(job.resumeHint);
  if (!signal.aborted) throw failure;
  throwStopped(io);
}
