/**
 * What the long jobs of `tessera map` have in common: the mappings are opened, a line on the terminal says how far it
 * is, a signal stops it, and a summary is told however it ends.
 */

import { CommanderError } from 'commander';
import {
  createMappings,
  type DueOptions,
  type MappingClient,
  type Mappings,
  type Progress,
  type Summary,
} from '../mapping/index.ts';
import { type Io, STOPPED } from './io.ts';
import { grouped, spanOf, startProgress } from './progress.ts';
import { clientOf, type ServiceFlags } from './service.ts';

/** The options of all of them. */
export interface MapFlags extends ServiceFlags {
  /** Where the mappings are. */
  readonly database: string;
  readonly v2?: boolean;
  readonly workers?: number;
}

/** Open the mappings that the options name. */
export function openMappings(client: MappingClient, { database, v2, workers }: MapFlags): Promise<Mappings> {
  return createMappings({ client, database, version: v2 ? 2 : 3, workers });
}

/** One job. */
export interface Job {
  run(mappings: Mappings, options: Required<Pick<DueOptions, 'signal' | 'onProgress'>>): Promise<Summary>;
  /** How much of it is done, in whatever unit; `of` undefined where nobody knows. */
  place(progress: Progress): { readonly rows: number; readonly done: number; readonly of: number | undefined };
  /** What the summary says: names for machines, in the order in which people read them. */
  told(summary: Summary): Readonly<Record<string, number>>;
  /** A line more for people, and a name more for machines. */
  readonly file?: { readonly name: string; readonly path: () => string | undefined };
  /** Let go, before the summary. */
  close?(): Promise<void>;
}

const NOTHING: Progress = { read: 0, kept: 0, mapped: 0, optedOut: 0, invalid: 0 };

const WORDS: Readonly<Record<string, string>> = { optedOut: 'opted out', kept: 'stored already' };

const report = (job: Job, progress: Summary, done: boolean, ms: number, { json }: MapFlags, { out }: Io): void => {
  const told = job.told(progress);
  const path = job.file?.path();
  if (json) {
    const file = job.file && { [job.file.name]: path ?? null };
    out(JSON.stringify({ done, ...told, ...file, seconds: Math.round(ms / 100) / 10 }));
    return;
  }
  const counts = Object.entries(told).map(([name, count]) => `${WORDS[name] ?? name}: ${grouped(count)}`);
  out(`${counts.join(', ')}; ${spanOf(ms)}`);
  if (path !== undefined) out(`${job.file!.name}: ${path}`);
};

/**
 * Run a job to its end, a failure, or a signal.
 *
 * @param begin  what can be wrong with the command line and the input is wrong before the database is opened.
 */
export async function runJob(flags: MapFlags, io: Io, begin: (signal: AbortSignal) => Promise<Job>): Promise<void> {
  const client = clientOf(flags, io);
  const stop = new AbortController();
  const { signal } = stop;
  io.stopped().then(() => stop.abort());
  const startedAt = performance.now();
  let progress: Progress = NOTHING;
  let job: Job | undefined;
  let mappings: Mappings | undefined;
  const line = startProgress('rows', io);
  let failure: unknown;
  try {
    job = await begin(signal);
    mappings = await openMappings(client, flags);
    const { place } = job;
    const onProgress = (now: Progress): void => {
      progress = now;
      const { rows, done, of } = place(now);
      line.show(rows, done, of);
    };
    progress = await job.run(mappings, { signal, onProgress });
  } catch (error) {
    failure = error ?? new Error('a failure without words');
  }
  // What has to be let go is, whatever fails on the way.
  for (const close of [() => line.stop(), () => mappings?.close(), () => job?.close?.()])
    try {
      await close();
    } catch (error) {
      failure ??= error;
    }
  if (job && mappings) report(job, progress, failure === undefined, performance.now() - startedAt, flags, io);
  if (failure === undefined) return;
  if (progress.mapped + progress.optedOut > 0) io.err('what is mapped is stored: run the same command again to go on');
  if (!signal.aborted) throw failure;
  io.err('stopped');
  throw new CommanderError(STOPPED, 'tessera.stopped', 'stopped');
}
