/** Up to eight tabs under every fault of storage, network, clock and pages. */

import { expect, test } from 'vitest';
import { HOST_STORE_FAULTS } from './host-store.ts';
import { limitOf, runModel, runsOf, SEED } from './run.ts';

const RUNS = runsOf(3000);

test(
  `${RUNS} simulated profiles with all faults keep every invariant`,
  async ({ signal }) => {
    expect(await runModel({ field: 'wild', runs: RUNS, seed: SEED, signal })).toBe('');
  },
  limitOf(RUNS),
);

const FEWER = runsOf(150);

test(
  `${FEWER} simulated profiles with damaged records keep every invariant`,
  async ({ signal }) => {
    expect(await runModel({ field: 'damage', runs: FEWER, seed: SEED, signal })).toBe('');
  },
  limitOf(FEWER),
);

test.for([
  ['refresh answers that repeat the refresh token', { keepsRefreshToken: true }],
  ['a Date header of the past', { isDateReadable: true, dateErrorMs: -3_600_000 }],
  ['a Date header of the future', { isDateReadable: true, dateErrorMs: 3_600_000 }],
  ['a store slower than the limits', { storage: 'sluggish' }],
  ['the labels of users', { hasLabels: true }],
  ['the labels of users and `provide`', { hasLabels: true, hasProvide: true }],
  ['stores of the host', { hostStoreFaults: HOST_STORE_FAULTS, hasStorage: true }],
  ['tabs with different time limits and no Web Locks', { timeouts: [3_000, 10_000, 30_000], locks: 'missing' }],
  [
    'sets that end within half an hour',
    { lifetimes: { identityExpires: 600, refreshFrom: 300, refreshExpires: 1800 } },
  ],
] as const)(
  `${FEWER} simulated profiles with %s keep every invariant`,
  { timeout: limitOf(FEWER) },
  async ([, fixed], { signal }) => {
    expect(await runModel({ field: 'wild', runs: FEWER, seed: SEED, fixed, signal })).toBe('');
  },
);
