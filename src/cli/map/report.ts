/** The end of a job of `tessera map`: prints a summary, and how to continue after a failure. */

import type { Io } from '../io.ts';
import { formatDuration, formatNumber } from '../output/progress.ts';
import { coloursOf, listed } from '../output/style.ts';
import type { FinishedJob, Job } from './run-job.ts';

/** The counts of the summary, in the order of output. */
type Counts = Readonly<Record<string, number>>;

const CONTINUES = 'the rows mapped so far are stored: run the same command again to continue';

const LABELS: Readonly<Record<string, string>> = {
  optedOut: 'opted out',
  kept: 'stored already',
  written: 'written already',
};

function tableOf(counts: Counts, ms: number, io: Io): string[] {
  const { bold, yellow, dim } = coloursOf(io, 'out');
  const rows = Object.entries(counts).map(([name, count]) => [LABELS[name] ?? name, formatNumber(count)] as const);
  const width = Math.max(...rows.map(([, count]) => count.length), formatDuration(ms).length);
  const isWarning = (name: string): boolean => name === 'rejected' && counts.rejected !== 0;
  const table = [...rows, ['time', formatDuration(ms)] as const].map(([name, value]) => [name, value.padStart(width)]);
  return listed(table).map((line, index) => {
    const name = rows[index]?.[0];
    if (name === undefined) return dim(line);
    return isWarning(name) ? yellow(line) : name === 'mapped' ? bold(line) : line;
  });
}

function printSummary({ options, io, rejects }: Job, { failure, ms }: FinishedJob, counts: Counts): void {
  const { out } = io;
  const path = rejects && (rejects.count > 0 ? rejects.path : null);
  if (options.json) {
    const seconds = Math.round(ms / 100) / 10;
    out(JSON.stringify({ done: failure === undefined, ...counts, rejects: path, seconds }));
    return;
  }
  const parts = Object.entries(counts).map(([name, count]) => `${LABELS[name] ?? name}: ${formatNumber(count)}`);
  if (io.outIsTerminal) for (const line of tableOf(counts, ms, io)) out(line);
  else out(`${parts.join(', ')}; ${formatDuration(ms)}`);
  if (path) out(`rejects: ${path}`);
}

/** Return the hint of a job that stores each answer; null if there is none yet. */
export function storedHint({ signal }: Job, { summary }: FinishedJob, hint: string = CONTINUES): string | null {
  return summary.mapped + summary.optedOut > 0 || (signal.aborted && summary.read > 0) ? hint : null;
}

/** Print the summary and throw the failure. `resumeHint`: what an interrupted run leaves, and how to continue; null: nothing. */
export function report(job: Job, outcome: FinishedJob, counts: Counts, resumeHint = storedHint(job, outcome)): void {
  printSummary(job, outcome, counts);
  if (outcome.failure === undefined) return;
  if (resumeHint) job.io.err(resumeHint);
  throw outcome.failure;
}
