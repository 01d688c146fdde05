/** Everything that can go wrong with storage, network, clock and pages, while up to eight tabs act. */

import { expect, test } from 'vitest';
import { limitOf, runModel, runsOf, SEED } from './run.ts';

const RUNS = runsOf(3000);

test(
  `${RUNS} profiles in which anything can happen keep every invariant`,
  async () => {
    expect(await runModel({ field: 'wild', runs: RUNS, seed: SEED })).toBe('');
  },
  limitOf(RUNS),
);
