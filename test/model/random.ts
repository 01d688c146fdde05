/** Reproducible random numbers: everything random in a simulated profile comes from one seed. */

/** A source of random values. */
export interface Random {
  /** A number from 0 (included) to 1 (excluded). */
  next(): number;
  /** An integer from `least` to `most`, both included. */
  integer(least: number, most: number): number;
  /** True with probability `part`. */
  happens(part: number): boolean;
  /** One of the elements. */
  pick<T>(some: readonly T[]): T;
}

/** Mulberry32: small, fast, and good enough for a simulation. */
export const createRandom = (seed: number): Random => {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return { next, integer, happens: (part) => next() < part, pick: (some) => some[integer(0, some.length - 1)]! };
};
