/** Running a model: worlds made by fast-check, until one fails or there have been enough. */

import fc from 'fast-check';
import { bundleSession, type Mutation } from './bundle.ts';
import { commands, type Field, setups } from './commands.ts';
import type { Setup } from './invariants.ts';
import { createProfile } from './profile.ts';
import { closeAll, converge } from './settle-and-close.ts';

/**
 * The seed of a test: always the same, so that a test which fails was broken by a change; `MODEL_SEED=any` looks elsewhere,
 * `MODEL_SEED=<number>` again where a run has failed, `MODEL_RUNS` further.
 */
const given = process.env['MODEL_SEED'];
export const SEED: number | undefined = given === 'any' ? undefined : Number(given ?? 5);
/** Worlds of one test: as many as are given, or `usual`. */
export const runsOf = (usual: number): number => Number(process.env['MODEL_RUNS'] ?? usual);
/** Real time for so many, on a machine that has others to serve, ms. */
export const limitOf = (runs: number): number => 60_000 + 150 * runs;

export interface Run {
  readonly field: Field;
  readonly runs: number;
  readonly seed?: number | undefined;
  readonly path?: string | undefined;
  /** Commands of one run, at most. */
  readonly most?: number | undefined;
  /** Look for the smallest run that fails. */
  readonly shrinks?: boolean | undefined;
  readonly mutation?: Mutation | undefined;
  /** What all worlds have in common. */
  readonly fixed?: Partial<Setup> | undefined;
}

/** Rejections that nobody handled, since the last look. */
const rejections: unknown[] = [];
const note = (reason: unknown) => void rejections.push(reason);

/**
 * Run the model.
 *
 * @returns what went wrong, with all that is needed to see it again; empty where nothing did.
 */
export const runModel = async ({
  field,
  runs,
  seed,
  path,
  most = 40,
  shrinks = true,
  mutation,
  fixed,
}: Run): Promise<string> => {
  const load = bundleSession(mutation);
  const property = fc.asyncProperty(setups, commands(field, most), async (setup, some) => {
    const profile = createProfile({ ...setup, ...fixed }, load);
    try {
      await fc.asyncModelRun(async () => ({ model: {}, real: profile }), some);
      await converge(profile);
    } finally {
      await closeAll(profile);
    }
    const unhandled = rejections
      .splice(0)
      .map((reason) => `nobody handled ${(reason as Error | undefined)?.stack ?? reason}`);
    const wrong = [...profile.faults, ...unhandled];
    if (wrong.length) throw new Error(wrong.join('\n  '));
  });
  process.on('unhandledRejection', note);
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
