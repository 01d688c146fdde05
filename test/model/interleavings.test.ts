/** Acts of up to eight tabs close together, on a device that is slow at worst: whoever acted last has won, everywhere. */

import { expect, test } from 'vitest';
import { limitOf, runModel, runsOf, SEED } from './run.ts';

const RUNS = runsOf(2000);

test(
  `${RUNS} profiles of overlapping acts keep every invariant`,
  async () => {
    expect(await runModel({ field: 'close', runs: RUNS, seed: SEED })).toBe('');
  },
  limitOf(RUNS),
);
