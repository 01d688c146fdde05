/**
 * Reading a source of DII: valid items go on as keys, in batches; the others are told.
 *
 * No more than one batch is in memory, however long the source, and none waits for its last item for long.
 */

import type { Dii, Source } from '../server/index.ts';
import type { Invalid } from './contract.ts';
import { type Key, keyOf } from './key.ts';

/** Keys that are put down in one statement. */
export const BATCH = 5_000;

/** Time in which a source has to fill a batch, ms: what there is by then goes on without the rest. */
const PATIENCE_MS = 1_000;

/** Items read since the batch before, and the keys of the valid ones. */
export interface Batch {
  readonly read: number;
  readonly keys: readonly Key[];
  /** Whether the source has not filled it in time. It may be empty then. */
  readonly early: boolean;
}

const keyAt = (dii: Dii, index: number): Key | undefined => {
  try {
    return keyOf(dii);
  } catch (error) {
    throw new TypeError(`source: item ${index}: ${(error as Error).message}`);
  }
};

/** Items of a source, by hand: to wait for the next one, but not for ever. */
const readerOf = (source: Source<Dii>): AsyncIterator<Dii> | Iterator<Dii> =>
  Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();

/** A promise that is kept after {@link PATIENCE_MS}, and keeps no process alive. */
const patience = (): { readonly over: Promise<void>; end(): void } => {
  let ring = () => {};
  const over = new Promise<void>((resolve) => {
    ring = resolve;
  });
  const timer = setTimeout(() => ring(), PATIENCE_MS);
  timer.unref();
  return { over, end: () => clearTimeout(timer) };
};

/**
 * Read a source in batches of {@link BATCH} items; of fewer where it is slow.
 *
 * @param invalid  told of each item that is not valid, in order; waited for.
 * @throws {TypeError} an item that is no DII at all; and what source and `invalid` throw.
 */
export async function* batchesOf(
  source: Source<Dii>,
  invalid: (found: Invalid) => void | Promise<void>,
): AsyncGenerator<Batch, void, undefined> {
  const reader = readerOf(source);
  let index = 0;
  let coming: Promise<IteratorResult<Dii>> | undefined;
  let wait = patience();
  let ended = false;
  try {
    while (!ended) {
      let read = 0;
      let early = false;
      const keys: Key[] = [];
      while (read < BATCH && !ended && !early) {
        coming ??= Promise.resolve(reader.next());
        const next = await Promise.race([coming, wait.over]);
        early = !next;
        if (!next) continue;
        coming = undefined;
        ended = next.done === true;
        if (next.done) continue;
        const key = keyAt(next.value, index);
        if (key) keys.push(key);
        else await invalid({ dii: next.value, index, reason: 'invalid identifier' });
        index++;
        read++;
      }
      wait.end();
      yield { read, keys, early };
      wait = patience();
    }
  } finally {
    wait.end();
    // Whoever is still asked for its next item would hold us up; one that has failed or ended has nothing to let go of.
    const closing = ended ? undefined : reader.return?.();
    if (coming) Promise.resolve(closing).catch(() => {});
    else await closing;
  }
}
