/**
 * `bench/results.json`: the last measurements of each bench, with the day and the machine, and the points of the charts of
 * growth, which runs of other sizes add to.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { arch, availableParallelism, loadavg, platform } from 'node:os';
import type { Measurement } from '../measure.ts';

/** Where a figure comes from. */
export interface Origin {
  /** `YYYY-MM-DD`. */
  readonly date: string;
  /** Node, platform, cores, and the load when the run started. */
  readonly machine: string;
}

/** What one bench has measured. */
export interface BenchResult extends Origin {
  readonly measured: readonly Measurement[];
}

/** One size of a figure of growth. */
export interface GrowthPoint extends Origin {
  readonly chart: string;
  readonly series: string;
  /** Amount of work, such as rows. */
  readonly x: number;
  readonly value: number;
  readonly unit: string;
}

export interface Results {
  /** By name of the bench: `NAME.bench.ts`. */
  readonly benches: Readonly<Record<string, BenchResult>>;
  /** In the order of chart, series and size. */
  readonly growth: readonly GrowthPoint[];
}

const FILE = new URL('../results.json', import.meta.url);

/** Read the results; none if there is no file. */
export async function readResults(file: URL = FILE): Promise<Results> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  return text === undefined ? { benches: {}, growth: [] } : (JSON.parse(text) as Results);
}

export async function writeResults(results: Results, file: URL = FILE): Promise<void> {
  await writeFile(file, `${JSON.stringify(results, undefined, 2)}\n`);
}

/** Describe this machine and its present load. */
export function origin(): Origin {
  const load = loadavg()[0]!.toFixed(1);
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: `Node ${process.version}, ${platform()} ${arch()}, ${availableParallelism()} cores, load ${load} at the start`,
  };
}

const keyOf = ({ chart, series }: { chart: string; series: string }): string => `${chart} ${series}`;

/** Return the results with those of one bench in place of its earlier ones; points of growth of other sizes stay. */
export function withBench(results: Results, name: string, from: Origin, measured: readonly Measurement[]): Results {
  const added = measured.flatMap(({ point, value, unit }): GrowthPoint[] =>
    point?.x === undefined ? [] : [{ chart: point.chart, series: point.series, x: point.x, value, unit, ...from }],
  );
  const kept = results.growth.filter((one) => !added.some((other) => keyOf(other) === keyOf(one) && other.x === one.x));
  return {
    benches: sorted({ ...results.benches, [name]: { ...from, measured } }),
    growth: [...kept, ...added].sort((a, b) => keyOf(a).localeCompare(keyOf(b)) || a.x - b.x),
  };
}

const sorted = <T>(record: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => a.localeCompare(b)));
