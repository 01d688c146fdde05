/** What a bench says, and the few sums that all of them need. */

/** One line of the table. */
export interface Measurement {
  /** What was measured, as a reader would say it. */
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** What the value may not pass. None: it is told, not judged. */
  readonly limit?: { readonly atMost: number } | { readonly atLeast: number };
  /** What it was measured beside, in words. */
  readonly beside?: string;
}

/** Whether a measurement is beyond its limit. */
export const misses = ({ value, limit }: Measurement): boolean =>
  limit !== undefined && !('atMost' in limit ? value <= limit.atMost : value >= limit.atLeast);

/** A number as the table shows it: three digits that matter, more only where they are whole. */
export const figure = (value: number): string =>
  value.toLocaleString('en', value >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 });

/** The value that `share` (0 to 1) of the values do not pass. */
export const quantile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN;
};

export const median = (values: readonly number[]): number => quantile(values, 0.5);

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Milliseconds that `work` takes. */
export const timed = async (work: () => unknown): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};

/** Two speeds that were measured in turns, and what one is of the other. */
export interface Compared {
  readonly ours: number;
  readonly peer: number;
  /** Median of `ours / peer` over the rounds: what slows the machine for a while slows both sides of a round. */
  readonly ratio: number;
}

/**
 * Measure two speeds in turns, so that a busy neighbour is not taken for a difference.
 *
 * @param rounds  rounds that count; `warmUp` more go before them.
 * @param ours    resolves with a speed, in whatever unit `peer` has too.
 */
export const compare = async (
  { rounds, warmUp }: { readonly rounds: number; readonly warmUp: number },
  ours: () => Promise<number>,
  peer: () => Promise<number>,
): Promise<Compared> => {
  const pairs: [ours: number, peer: number][] = [];
  for (let round = 0; round < warmUp + rounds; round++) {
    // Whoever goes second finds the caches of the first: take turns in that as well.
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
