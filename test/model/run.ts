/** Run the model: fast-check generates profiles and commands until one run fails or there have been enough. */

import fc from 'fast-check';
import { vi } from 'vitest';
import { type Alteration, bundleSession } from './bundle.ts';
import { commands, type Field, setups } from './commands.ts';
import type { Setup } from './invariants.ts';
import { createProfile } from './profile.ts';
import { closeAll, converge } from './settle-and-close.ts';

/**
 * The seed of a test. It is fixed, so that a failure is caused by a change of the code. `MODEL_SEED=any` draws another,
 * `MODEL_SEED=<number>` repeats a failed run, `MODEL_RUNS=<number>` sets the number of runs.
 */
const given = process.env['MODEL_SEED'];
export const SEED: number | undefined = given === 'any' ? undefined : Number(given ?? 5);
/** The number of runs of one test: `MODEL_RUNS`, or the project's share of `usual` (see vitest.config.ts). */
export const runsOf = (usual: number): number =>
  Number(process.env['MODEL_RUNS'] ?? Math.ceil(usual * Number(process.env['MODEL_SHARE'] ?? 1)));
/** The test timeout for a number of runs, ms: for runs that never end. */
export const limitOf = (runs: number): number => 300_000 + 300 * runs;

export interface Run {
  readonly field: Field;
  readonly runs: number;
  readonly seed?: number | undefined;
  readonly path?: string | undefined;
  /** Maximum number of commands of one run. */
  readonly most?: number | undefined;
  /** Whether to look for the smallest run that fails. */
  readonly shrinks?: boolean | undefined;
  readonly altered?: Alteration | undefined;
  /** What all profiles have in common. */
  readonly fixed?: Partial<Setup> | undefined;
  /** Aborted by a test that has timed out: no further run starts. */
  readonly signal: AbortSignal;
}

/** The runs of the test before: they share the clock and the rejections of this process. */
let before: Promise<unknown> = Promise.resolve();

/** Unhandled rejections since the last run. */
const rejections: unknown[] = [];
const note = (reason: unknown) => void rejections.push(reason);

/**
 * Run the model, after the runs of a test that has timed out have ended.
 *
 * @returns what went wrong and how to repeat it; an empty string if nothing did.
 */
export const runModel = (run: Run): Promise<string> => {
  const result = before.then(() => runProfiles(run));
  before = result.catch(() => {});
  return result;
};

const runProfiles = async ({
  field,
  runs,
  seed,
  path,
  most = 40,
  shrinks = true,
  altered,
  fixed,
  signal,
}: Run): Promise<string> => {
  const load = await bundleSession(altered);
  const property = fc.asyncProperty(setups, commands(field, most), async (setup, some) => {
    signal.throwIfAborted();
    const profile = createProfile({ ...setup, ...fixed }, load);
    try {
      await fc.asyncModelRun(async () => ({ model: {}, real: profile }), some);
      await converge(profile);
    } finally {
      await closeAll(profile);
    }
    const unhandled = rejections
      .splice(0)
      .map((reason) => `unhandled rejection: ${(reason as Error | undefined)?.stack ?? reason}`);
    const wrong = [...profile.faults, ...unhandled];
    if (wrong.length) throw new Error(wrong.join('\n  '));
  });
  process.on('unhandledRejection', note);
  // Consent gates that fail, among others: the development build warns of each.
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  const {
    failed,
    seed: drawn,
    counterexample,
    counterexamplePath,
    errorInstance,
    numRuns,
  } = await fc.check(property, {
    numRuns: runs,
    endOnFailure: !shrinks,
    ...(seed !== undefined && { seed }),
    ...(path && { path }),
  });
  process.off('unhandledRejection', note);
  warn.mockRestore();
  rejections.length = 0;
  if (!failed) return '';
  const [setup, some] = counterexample!;
  return [
    `run ${numRuns} failed: MODEL_SEED=${drawn} (shrunk: ${counterexamplePath})`,
    JSON.stringify(setup),
    ...String(some).split(/,(?=[a-z])/),
    `${errorInstance instanceof Error ? errorInstance.message : errorInstance}`,
  ].join('\n  ');
};
