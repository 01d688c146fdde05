/**
 * Reads a source of DII in batches of keys, and reports the invalid items.
 *
 * Memory holds one batch. An incomplete batch of a slow source is passed on after a second.
 */

import { invalidReason } from '../server/dii.ts';
import type { Dii, Source } from '../server/index.ts';
import { type Key, keyOf } from './key.ts';
import type { Invalid } from './types.ts';

/** Time after which an incomplete batch is passed on, ms. */
const FILL_TIMEOUT_MS = 1_000;

/** The number of items read since the previous batch, and the keys of the valid ones. It may be empty. */
export interface Batch {
  readonly read: number;
  readonly keys: readonly Key[];
}

/** How to read a source. */
export interface ReadOptions {
  /** Number of items in a batch. */
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

type Step = IteratorResult<Dii>;

/**
 * Not `for await`: waiting for the next item needs a time limit. An array or a generator has its next item at once and needs no promise.
 */
function readerOf(source: Source<Dii>): { next(): Step | Promise<Step>; return?(): unknown } {
  return Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
}

/** Start a timer that does not keep the process alive. */
function startTimer(): { readonly elapsed: Promise<void>; clear(): void } {
  let resolveElapsed = () => {};
  const elapsed = new Promise<void>((resolve) => {
    resolveElapsed = resolve;
  });
  const timer = setTimeout(() => resolveElapsed(), FILL_TIMEOUT_MS);
  timer.unref();
  return { elapsed, clear: () => clearTimeout(timer) };
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
  const reader = readerOf(source);
  let index = 0;
  let outstanding: Step | Promise<Step> | undefined;
  let timer = startTimer();
  let isEnded = false;
  try {
    while (!isEnded) {
      let read = 0;
      let isEarly = false;
      const keys: Key[] = [];
      while (read < size && !isEnded && !isEarly) {
        outstanding ??= reader.next();
        const next = 'then' in outstanding ? await Promise.race([outstanding, timer.elapsed]) : outstanding;
        if (stop.isStopped) return;
        isEarly = !next;
        if (!next) continue;
        outstanding = undefined;
        isEnded = next.done === true;
        if (next.done) continue;
        const key = keyAt(next.value, index);
        if (key) keys.push(key);
        else await onInvalid({ dii: next.value, index, reason: invalidReason(next.value) });
        index++;
        read++;
      }
      timer.clear();
      yield { read, keys };
      timer = startTimer();
    }
  } finally {
    timer.clear();
    // A source whose next item is outstanding must not block. One that has ended or failed needs no `return`.
    const closing = isEnded ? undefined : reader.return?.();
    if (outstanding) Promise.resolve(closing).catch(() => {});
    else await closing;
  }
}
