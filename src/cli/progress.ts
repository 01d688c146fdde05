/// <reference types="node" />
/**
 * How far a long job is, on a terminal: a bar where the end is known, rows, rows a second, and the time that is left.
 * Where standard error is no terminal there is nothing.
 */

import cliProgress from 'cli-progress';
import type { Io } from './io.ts';

/** A line on the terminal that changes. */
export interface ProgressLine {
  /** `done` of `total`, in whatever unit, say how much is left; `rows` is told as it is. */
  show(rows: number, done?: number, total?: number): void;
  /** Take the line away. */
  stop(): void;
}

const WINDOW_MS = 10_000;
const BAR_WIDTH = 24;

/** A number for people. */
export function grouped(number: number): string {
  return Math.round(number).toLocaleString('en-US');
}

/** A span for people. */
export function spanOf(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 100) return `${seconds} s`;
  return seconds < 6000 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** Start it. `what` is counted: rows, mappings. */
export function startProgress(what: string, { terminal }: Io): ProgressLine {
  if (!terminal) return { show: () => {}, stop: () => {} };
  let rows = 0;
  let [done, total]: [number, number | undefined] = [0, undefined];
  // The last seconds alone: rows that are stored already pass many times as fast as others.
  const seen: { at: number; rows: number; done: number }[] = [];

  const text = (): string => {
    const [first, last] = [seen[0], seen.at(-1)];
    const ms = first && last ? last.at - first.at : 0;
    const parts = [`${grouped(rows)} ${what}`];
    if (ms > 0) parts.push(`${grouped(((last!.rows - first!.rows) / ms) * 1000)}/s`);
    if (!total) return parts.join(' | ');
    const share = Math.min(done / total, 1);
    const full = Math.floor(share * BAR_WIDTH);
    const pace = ms > 0 ? (last!.done - first!.done) / total / ms : 0;
    if (pace > 0) parts.push(`${spanOf((1 - share) / pace)} left`);
    return `[${'='.repeat(full)}${' '.repeat(BAR_WIDTH - full)}] ${Math.floor(share * 100)} % | ${parts.join(' | ')}`;
  };
  const line = new cliProgress.SingleBar({
    stream: terminal,
    format: text,
    clearOnComplete: true,
    // Left as it is: nothing has to be put right on a terminal whose process was killed.
    linewrap: true,
    fps: 10,
  });
  line.start(1, 0);
  return {
    show: (nowRows, nowDone = 0, nowTotal) => {
      [rows, done, total] = [nowRows, nowDone, nowTotal];
      const at = performance.now();
      if (at - (seen.at(-2)?.at ?? Number.NEGATIVE_INFINITY) < WINDOW_MS / 20) seen.pop();
      seen.push({ at, rows, done });
      while (seen.length > 2 && at - seen[1]!.at > WINDOW_MS) seen.shift();
      line.update(0);
    },
    stop: () => line.stop(),
  };
}
