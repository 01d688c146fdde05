/// <reference types="node" />
/** The progress line of a long job, if standard error is a terminal: rows, their rate and, with a total, a bar and the rest. */

import cliProgress from 'cli-progress';
import type { Io } from '../io.ts';

export interface ProgressLine {
  /** Redraw. `done` and `total`, in any unit, determine the bar and the remaining time; `rows` is printed. */
  show(rows: number, done?: number, total?: number): void;
  stop(): void;
}

const WINDOW_MS = 10_000;
const BAR_WIDTH = 24;

export function formatNumber(number: number): string {
  return Math.round(number).toLocaleString('en-US');
}

/** @example formatDuration(90 * 60_000) // "1.5 h" */
export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.round(seconds / 360) / 10} h`;
}

export function createProgressLine(unit: string, { terminal }: Io): ProgressLine {
  if (!terminal) return { show: () => {}, stop: () => {} };
  let rows = 0;
  let [done, total]: [number, number | undefined] = [0, undefined];
  // The rate of the last seconds, because rows that are already stored are many times faster than others.
  const samples: { at: number; rows: number; done: number }[] = [];

  const text = (): string => {
    const [first, last] = [samples[0], samples.at(-1)];
    const ms = first && last ? last.at - first.at : 0;
    const parts = [`${formatNumber(rows)} ${unit}`];
    if (ms > 0) parts.push(`${formatNumber(((last!.rows - first!.rows) / ms) * 1000)}/s`);
    if (!total) return parts.join(' | ');
    const share = Math.min(done / total, 1);
    const full = Math.floor(share * BAR_WIDTH);
    const sharePerMs = ms > 0 ? (last!.done - first!.done) / total / ms : 0;
    if (sharePerMs > 0) parts.push(`${formatDuration((1 - share) / sharePerMs)} left`);
    return `[${'='.repeat(full)}${' '.repeat(BAR_WIDTH - full)}] ${Math.floor(share * 100)} % | ${parts.join(' | ')}`;
  };
  const line = new cliProgress.SingleBar({
    stream: terminal,
    format: text,
    clearOnComplete: true,
    // Otherwise, cli-progress disables line wrapping, and a killed process would leave it disabled.
    linewrap: true,
    fps: 10,
  });
  line.start(1, 0);
  return {
    show: (nowRows, nowDone = 0, nowTotal) => {
      [rows, done, total] = [nowRows, nowDone, nowTotal];
      const at = performance.now();
      if (at - (samples.at(-2)?.at ?? Number.NEGATIVE_INFINITY) < WINDOW_MS / 20) samples.pop();
      samples.push({ at, rows, done });
      while (samples.length > 2 && at - samples[1]!.at > WINDOW_MS) samples.shift();
      line.update(0);
    },
    stop: () => line.stop(),
  };
}
