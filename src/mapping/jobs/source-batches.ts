/** Reads a source of DII in batches of keys, one in memory; an incomplete one of a slow source is passed on after a second. */

import { createSourceReader } from '../../server/bulk/source-reader.ts';
import { invalidReason } from '../../server/dii.ts';
import type { Dii, Source } from '../../server/index.ts';
import { type Key, keyOf } from '../rows/key.ts';
import type { Invalid } from '../types.ts';

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

/** @throws {TypeError} for an item that is not DII; and what source and `onInvalid` throw. */
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
      const keys: Key[] = [];
      while (read < size) {
        const step = reader.next();
        const next = 'then' in step ? await step : step;
        if (stop.isStopped) return;
        isEnded = next?.done === true;
        if (!next || next.done) break;
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
