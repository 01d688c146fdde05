/** Chance that can be had again: all that is random in a world comes from one seed. */

/** What a world draws from. */
export interface Random {
  /** A number from 0 to 1, 1 excluded. */
  next(): number;
  /** A whole number from `least` to `most`. */
  integer(least: number, most: number): number;
  /** Whether what comes about in `part` of all cases does so. */
  happens(part: number): boolean;
  /** One of several. */
  pick<T>(some: readonly T[]): T;
}

/** Mulberry32: small, quick, and good enough for jitter. */
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
