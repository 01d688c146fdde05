/** The result of a bench, and the statistics that all benches share. */

/** One line of the table. */
export interface Measurement {
  /** What was measured, in words. */
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** The limit of the value; without one it is only reported. */
  readonly limit?: { readonly atMost: number } | { readonly atLeast: number };
  /** The figures behind it, and what it was compared with, in words. */
  readonly beside?: string;
}

/** Whether a measurement is beyond its limit. */
export const misses = ({ value, limit }: Measurement): boolean =>
  limit !== undefined && !('atMost' in limit ? value <= limit.atMost : value >= limit.atLeast);

/** Format a number for the table: three significant digits, or all digits of the integer part. */
export const figure = (value: number): string =>
  value.toLocaleString('en', value >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 });

/** The smallest value that is not exceeded by `share` (0 to 1) of the values. */
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
  /** Median of `ours / peer` over the rounds: a temporary slowdown of the machine affects both sides of a round. */
  readonly ratio: number;
}

/**
 * Measure two speeds alternately, so that load from other processes affects both.
 *
 * @param rounds  number of rounds that count, after `warmUp` rounds that do not.
 * @param ours    resolves with a speed, in the same unit as `peer`.
 */
export const compare = async (
  { rounds, warmUp }: { readonly rounds: number; readonly warmUp: number },
  ours: () => Promise<number>,
  peer: () => Promise<number>,
): Promise<Compared> => {
  const pairs: [ours: number, peer: number][] = [];
  for (let round = 0; round < warmUp + rounds; round++) {
    // The second one runs with warm caches, so the order alternates.
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
