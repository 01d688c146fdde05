/**
 * Reads a source of DII in batches of keys, and reports the invalid items.
 *
 * Memory holds one batch. An incomplete batch of a slow source is passed on after a second.
 */

import { invalidReason } from '../server/dii.ts';
import type { Dii, Source } from '../server/index.ts';
import { createSourceReader } from '../server/source-reader.ts';
import { type Key, keyOf } from './key.ts';
import type { Invalid } from './types.ts';

/** The number of items read since the previous batch, and the keys of the valid ones. It may be empty. */
export interface Batch {
  readonly read: number;
  readonly keys: readonly Key[];
}

export interface ReadOptions {
  readonly size: number;
  /** Called for each invalid item, in order; a promise is awaited. */
  onInvalid(found: Invalid): void | Promise<void>;
  /** Read when an item arrives: if the job has stopped, that item is dropped and reading ends. */
  readonly stop: { readonly isStopped: boolean };
}

function keyAt(dii: Dii, index: number): Key | undefined {
  try {
    return keyOf(dii);
  } catch (error) {
    throw new TypeError(`source: item ${index}: ${(error as Error).message}`);
  }
}

/**
 * Read a source in batches of `size` items, or fewer if it is slow.
 *
 * @throws {TypeError} for an item that is not DII; and what source and `onInvalid` throw.
 */
export async function* batchesOf(
  source: Source<Dii>,
  { size, onInvalid, stop }: ReadOptions,
): AsyncGenerator<Batch, void, undefined> {
  const reader = createSourceReader(source);
  let index = 0;
  let isEnded = false;
  try {
    while (!isEnded) {
      let read = 0;
      let isEarly = false;
      const keys: Key[] = [];
      while (read < size && !isEnded && !isEarly) {
        const step = reader.next();
        const next = 'then' in step ? await step : step;
        if (stop.isStopped) return;
        isEarly = !next;
        if (!next) continue;
        isEnded = next.done === true;
        if (next.done) continue;
        const key = keyAt(next.value, index);
        if (key) keys.push(key);
        else await onInvalid({ dii: next.value, index, reason: invalidReason(next.value) });
        index++;
        read++;
      }
      yield { read, keys };
      reader.startBatch();
    }
  } finally {
    await reader.close();
  }
}
