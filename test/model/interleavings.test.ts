/** Overlapping operations of up to eight tabs, on a device that is slow at worst: the last operation wins in every tab. */

import { expect, test } from 'vitest';
import { limitOf, runModel, runsOf, SEED } from './run.ts';

const RUNS = runsOf(2000);

test(
  `${RUNS} simulated profiles with overlapping operations keep every invariant`,
  async ({ signal }) => {
    expect(await runModel({ field: 'close', runs: RUNS, seed: SEED, signal })).toBe('');
  },
  limitOf(RUNS),
);

const FEWER = runsOf(300);

test.for(['works', 'missing'] as const)(
  `${FEWER} simulated profiles that supply the same sets again keep every invariant (channel: %s)`,
  { timeout: limitOf(FEWER) },
  async (channel, { signal }) => {
    expect(await runModel({ field: 'again', runs: FEWER, seed: SEED, fixed: { channel }, signal })).toBe('');
  },
);

test(
  `${FEWER} simulated profiles with pages that come and go keep every invariant`,
  async ({ signal }) => {
    expect(await runModel({ field: 'absence', runs: FEWER, seed: SEED, signal })).toBe('');
  },
  limitOf(FEWER),
);

test.for([false, true])(
  `${FEWER} simulated profiles with pages that are left during their attempts keep every invariant (provide: %s)`,
  { timeout: limitOf(FEWER) },
  async (hasProvide, { signal }) => {
    expect(await runModel({ field: 'leaving', runs: FEWER, seed: SEED, fixed: { hasProvide }, signal })).toBe('');
  },
);

test(
  `${FEWER} simulated profiles with stores that lie keep every invariant`,
  async ({ signal }) => {
    // Without messages: each of two pages makes the other read the old set again, so each success may be followed by another one.
    const fixed = { hostStoreFaults: ['lies'], hasStorage: true, channel: 'missing' } as const;
    expect(await runModel({ field: 'close', runs: FEWER, seed: SEED, fixed, signal })).toBe('');
  },
  limitOf(FEWER),
);

test(
  `${FEWER} simulated profiles of tabs with different time limits and no Web Locks keep every invariant`,
  async ({ signal }) => {
    const fixed = { timeouts: [3_000, 10_000, 30_000], locks: 'missing' } as const;
    expect(await runModel({ field: 'again', runs: FEWER, seed: SEED, fixed, signal })).toBe('');
  },
  limitOf(FEWER),
);
