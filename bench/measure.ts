/** The result of a benchmark, and the calculations that all of them need. */

/** One line of the table. */
export interface Measurement {
  /** What was measured, in words. */
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** The limit of the value. Without one the value is only reported. */
  readonly limit?: { readonly atMost: number } | { readonly atLeast: number };
  /** What it was compared with, in words. */
  readonly beside?: string;
  /** Where a chart shows the value. */
  readonly point?: Point;
}

/** A value in a chart of `bench/charts.ts`. */
export interface Point {
  /** Name of the chart. */
  readonly chart: string;
  /** What is measured: a bar, or a line. */
  readonly series: string;
  /** Facet of a bar chart, such as `4x`. */
  readonly group?: string;
  /** Amount of work, in a chart of growth. */
  readonly x?: number;
  /** Text at the value. Default: the value with its unit. */
  readonly text?: string;
}

/** Whether a measurement is beyond its limit. */
export const misses = ({ value, limit }: Measurement): boolean =>
  limit !== undefined && !('atMost' in limit ? value <= limit.atMost : value >= limit.atLeast);

/** Format a number for the table: three significant digits; numbers from 1,000 on without decimals. */
export const figure = (value: number): string =>
  value.toLocaleString('en', value >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 });

/** Return the value that a `share` (0 to 1) of the values does not exceed. */
export const quantile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN;
};

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Measure how long `work` takes, ms. */
export const timed = async (work: () => unknown): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

/** Two speeds that were measured alternately, and their ratio. */
export interface Compared {
  readonly ours: number;
  readonly peer: number;
  /** Median of `ours / peer` over the rounds. Other load on the machine slows both sides of a round. */
  readonly ratio: number;
}

/**
 * Measure two speeds alternately, so that other load on the machine does not look like a difference.
 *
 * @param rounds  rounds that count; `warmUp` more precede them.
 * @param ours    resolves with a speed, in the unit of `peer`.
 */
export const compare = async (
  { rounds, warmUp }: { readonly rounds: number; readonly warmUp: number },
  ours: () => Promise<number>,
  peer: () => Promise<number>,
): Promise<Compared> => {
  const pairs: [ours: number, peer: number][] = [];
  for (let round = 0; round < warmUp + rounds; round++) {
    // The second side finds caches that the first has filled, so the order alternates too.
    const first = round % 2 ? await peer() : await ours();
    const second = round % 2 ? await ours() : await peer();
    if (round >= warmUp) pairs.push(round % 2 ? [second, first] : [first, second]);
  }
  return {
    ours: median(pairs.map(([speed]) => speed)),
    peer: median(pairs.map(([, speed]) => speed)),
    ratio: median(pairs.map(([speed, beside]) => speed / beside)),
  };
};
