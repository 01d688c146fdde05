/**
 * The model can fail: the simulated profiles that the session passes detect each of these alterations, which take one safeguard away.
 * The tests of `test/session` detect them, too; here they measure the model.
 */

import { expect, test } from 'vitest';
import { ALTERATIONS } from './alterations.ts';
import { limitOf, runModel } from './run.ts';

const RUNS = 1000;
/** Fixed: this test is about the model. */
const SEED = 5;

test.for(Object.entries(ALTERATIONS).flatMap(([file, rows]) => rows.map((row) => [file, ...row] as const)))(
  'the model detects in %s: %j => %j',
  { timeout: limitOf(RUNS) },
  async ([file, from, to, field, violation, fixed], { signal }) => {
    const altered = { file, from, to };
    expect(await runModel({ field, runs: RUNS, seed: SEED, shrinks: false, altered, fixed, signal })).toMatch(
      violation,
    );
  },
);
