/**
 * Reading a source of DII: valid items go on as keys, in batches; the others are told.
 *
 * No more than one batch is in memory, however long the source.
 */

import type { Dii, Source } from '../server/index.ts';
import type { Invalid } from './contract.ts';
import { type Key, keyOf } from './key.ts';

/** Keys that are put down in one statement. */
export const BATCH = 5_000;

/** Items read since the batch before, and the keys of the valid ones. */
export interface Batch {
  readonly read: number;
  readonly keys: readonly Key[];
}

const keyAt = (dii: Dii, index: number): Key | undefined => {
  try {
    return keyOf(dii);
  } catch (error) {
    throw new TypeError(`source: item ${index}: ${(error as Error).message}`);
  }
};

/** The place of a source's name in the messages, and what it must be. */
export const checkSource = (source: unknown): void => {
  if (typeof source === 'object' && source !== null && (Symbol.asyncIterator in source || Symbol.iterator in source))
    return;
  throw new TypeError(`source: expected iterable or async iterable, got ${source === null ? 'null' : typeof source}`);
};

/**
 * Read a source in batches of {@link BATCH} items.
 *
 * @param invalid  told of each item that is not valid, in order; waited for.
 * @throws {TypeError} an item that is no DII at all; and what source and `invalid` throw.
 */
export async function* batchesOf(
  source: Source<Dii>,
  invalid: (found: Invalid) => void | Promise<void>,
): AsyncGenerator<Batch, void, undefined> {
  let index = 0;
  let read = 0;
  let keys: Key[] = [];
  for await (const dii of source) {
    const key = keyAt(dii, index);
    if (key) keys.push(key);
    else await invalid({ dii, index, reason: 'invalid identifier' });
    index++;
    if (++read < BATCH) continue;
    yield { read, keys };
    read = 0;
    keys = [];
  }
  yield { read, keys };
}
