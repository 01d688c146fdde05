/** The steps of a job of `tessera map` that sends requests: begin, probe the service, run until it ends, fails, or is stopped. */

import { createMappings, type MappingClient, type Mappings, type Progress, type Summary } from '../../mapping/index.ts';
import { isTemporary } from '../../server/bulk/retry.ts';
import type { Client } from '../../server/index.ts';
import { announceNewDatabase } from '../input/existing-database.ts';
import type { Io } from '../io.ts';
import { createProgressLine, type ProgressLine } from '../output/progress.ts';
import { connectionOf, createConnected, type ServiceOptions } from '../service/service-options.ts';
import type { Rejects } from './rejects.ts';

export interface MapOptions extends ServiceOptions {
  readonly database: string;
  readonly v2?: boolean;
  readonly workers?: number;
}

export function openMappings(client: MappingClient, { database, v2, workers }: MapOptions): Promise<Mappings> {
  return createMappings({ client, database, version: v2 ? 2 : 3, workers });
}

export interface Job {
  readonly options: MapOptions;
  readonly io: Io;
  readonly signal: AbortSignal;
  readonly client: Client;
  /** Sends each request once. */
  readonly prober: Client;
  /** From `performance.now()`. */
  readonly startedAt: number;
  readonly rejects?: Rejects;
}

export interface FinishedJob {
  readonly summary: Summary;
  readonly failure: unknown;
  readonly ms: number;
}

/** Begin a job: read the address and the credentials, before the input and the database. */
export function beginJob(options: MapOptions, io: Io, signal: AbortSignal): Job {
  const connection = connectionOf(options, io);
  const client = createConnected(connection, options, { concurrency: options.workers });
  const prober = createConnected(connection, options, { retry: { tries: 1 } });
  return { options, io, signal, client, prober, startedAt: performance.now() };
}

/** Every operator knows this identity and never opts it out (docs/protocol.md, "Opt-out"). */
const RESERVED = { email: 'validate@example.com' };

/**
 * One request before a long job, so that a wrong address, key, role, secret or clock fails before the job creates anything. A
 * temporary failure is left to the retries of the job, except that the service cannot be reached: the address may be wrong.
 */
export async function probe({ options: { v2 }, prober, signal }: Job): Promise<void> {
  try {
    await prober[v2 ? 'mapIdentitiesV2' : 'mapIdentities']([RESERVED], { signal }).toArray();
  } catch (error) {
    if (!isTemporary(error) || error.code === 'network') throw error;
  }
}

/** Call all functions, even if one of them fails. Returns the first failure. */
async function closeAll(closes: readonly (() => unknown)[]): Promise<unknown> {
  let failure: unknown;
  for (const close of closes)
    try {
      await close();
    } catch (error) {
      failure ??= error;
    }
  return failure;
}

/** Show the progress of a job. `done` and `total`, in any unit, are its completed share. */
type Show = (progress: Progress, rows: number, done?: number, total?: number) => void;

/** Waits until the work on the mappings ends or fails, and closes everything. @throws if they cannot be opened. */
export async function runJob(
  { options, io, client, startedAt, rejects }: Job,
  work: (mappings: Mappings, show: Show) => Promise<Summary>,
): Promise<FinishedJob> {
  let summary: Summary = { read: 0, kept: 0, mapped: 0, optedOut: 0, invalid: 0 };
  let failure: unknown;
  let line: ProgressLine | undefined;
  let mappings: Mappings | undefined;
  try {
    await announceNewDatabase(options.database, io);
    line = createProgressLine('rows', io);
    const { show } = line;
    mappings = await openMappings(client, options);
    summary = await work(mappings, (progress, rows, done = rows, total = progress.total) => {
      summary = progress;
      show(rows, done, total);
    });
  } catch (error) {
    failure = error ?? new Error('map: expected an error, got none');
  }
  const closeFailure = await closeAll([() => line?.stop(), () => mappings?.close(), () => rejects?.close()]);
  failure ??= closeFailure;
  if (!mappings) throw failure;
  return { summary, failure, ms: performance.now() - startedAt };
}
