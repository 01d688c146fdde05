/**
 * A job: rows of a source are put down as pending on one side, and claimed, asked for and written on the other, both at
 * the same time. A due run is a job without a source.
 *
 * The order of things within a chunk is what makes a job safe to kill: claim, ask and write are one transaction, so a
 * row is either as it was or as the service has answered. Before: `mappings.ts`.
 */

import type { Database } from '../database/contract.ts';
import type { Dii, Source } from '../server/index.ts';
import type { Answer, Ask } from './ask.ts';
import { lookFrom } from './buckets.ts';
import { byIndex } from './by-index.ts';
import type { DueOptions, Invalid, Progress, Summary } from './contract.ts';
import { diiOf } from './key.ts';
import { type Again, claim, countWanted, putDown, type Wanted, waitForOthers, write } from './rows.ts';
import { BATCH, batchesOf } from './source.ts';
import { createSupply } from './supply.ts';

/** What every job of a store works with. */
export interface Works {
  readonly database: Database;
  readonly ask: Ask;
  /** Batches under way at once. */
  readonly workers: number;
}

/** What a job is to do. */
export interface Work extends Pick<DueOptions, 'onProgress' | 'onInvalid'> {
  readonly source?: { readonly items: Source<Dii>; again(): Again };
  readonly wanted: Wanted;
  readonly signal: AbortSignal;
}

/** A promise that is kept when it is told to be. */
const createBell = (): { readonly rung: Promise<void>; ring(): void } => {
  let ring = () => {};
  const rung = new Promise<void>((resolve) => {
    ring = resolve;
  });
  return { rung, ring };
};

/**
 * Do a job to its end.
 *
 * @throws the first failure, after everything that was under way has come to its own end, or the reason of the signal.
 */
export async function runJob({ database, ask, workers }: Works, work: Work): Promise<Summary> {
  const { source, wanted, signal, onProgress, onInvalid } = work;
  // PGlite has one transaction at a time: it takes what several of PostgreSQL's would.
  const [parallel, chunk] = database.kind === 'pglite' ? [1, workers * BATCH] : [workers, BATCH];
  const supply = createSupply(chunk);
  const tally = { read: 0, kept: 0, mapped: 0, optedOut: 0, invalid: 0 };
  // Rows that were to be asked for when the job began: of a due run all of them, else what an earlier run has left.
  let waiting = 0;
  let failed: { readonly error: unknown } | undefined;
  const stop = createBell();
  const stopped = (): boolean => failed !== undefined || signal.aborted;

  const fail = (error: unknown): void => {
    failed ??= { error };
    stop.ring();
  };
  // What was left is in the source again, and stored already; it counts by its answer.
  const summary = (): Summary => (source ? { ...tally, kept: Math.max(0, tally.kept - waiting) } : { ...tally });
  const tell = (): void => onProgress?.({ ...summary(), ...(!source && { total: waiting }) } satisfies Progress);
  const refuse = async (found: Invalid): Promise<void> => {
    tally.invalid++;
    await onInvalid?.(found);
  };

  const read = async (): Promise<void> => {
    if (!source) return;
    for await (const { read, keys, early } of batchesOf(source.items, refuse)) {
      if (stopped()) return;
      const put = keys.length > 0 ? await byIndex(database, (queries) => putDown(queries, keys, source.again())) : 0;
      if (stopped()) return;
      tally.read += read;
      tally.kept += keys.length - put;
      supply.add(put);
      if (early) supply.release();
      if (read > 0) tell();
    }
  };

  const note = async (answers: readonly Answer[]): Promise<void> => {
    for (const answer of answers) {
      if (answer.state !== 'invalid') tally[answer.state]++;
      else await refuse({ dii: diiOf(answer), index: undefined, reason: answer.reason! });
    }
    tell();
  };

  // Claims a chunk, asks and writes; how many rows there were.
  const doChunk = async (): Promise<number> => {
    const done = await byIndex(database, async (queries) => {
      const keys = await claim(queries, wanted, chunk);
      if (keys.length === 0) return { claimed: 0, answers: [] };
      const { answers, failure } = await ask(keys, signal);
      if (answers.length > 0) await write(queries, answers);
      const ofV2 = answers.filter(({ bucketId }) => bucketId !== null).map(({ answeredAt }) => answeredAt);
      if (ofV2.length > 0)
        await lookFrom(
          queries,
          ofV2.reduce((a, b) => Math.min(a, b)),
        );
      // Whole batches before a failed one are kept.
      return { claimed: keys.length, answers, failure };
    });
    if (done.answers.length > 0) await note(done.answers);
    if (done.failure) throw done.failure.error;
    return done.claimed;
  };

  const keepClaiming = async (): Promise<void> => {
    // At first, what others have left.
    let more = true;
    while (!stopped()) {
      if (!more) await supply.next();
      const { ended } = supply;
      const count = await doChunk();
      if (ended && count === 0) return;
      more &&= count === chunk;
    }
  };
  // Nobody else's chunk is waited for once this job is to stop.
  const isLeft = (): Promise<boolean> =>
    Promise.race([byIndex(database, (queries) => waitForOthers(queries, wanted)), stop.rung.then(() => false)]);
  const claimAll = async (): Promise<void> => {
    do {
      await Promise.all(Array.from({ length: parallel }, () => keepClaiming().catch(fail)));
    } while (!stopped() && (await isLeft()));
  };

  signal.throwIfAborted();
  signal.addEventListener('abort', stop.ring, { once: true });
  try {
    if (source || onProgress) waiting = await byIndex(database, (queries) => countWanted(queries, wanted));
    // A source that keeps us waiting cannot be stopped, but need not be waited for.
    const reading = Promise.race([read(), stop.rung]).catch(fail).finally(supply.end);
    await Promise.all([reading, claimAll().catch(fail)]);
  } finally {
    signal.removeEventListener('abort', stop.ring);
  }
  signal.throwIfAborted();
  if (failed) throw failed.error;
  return summary();
}
