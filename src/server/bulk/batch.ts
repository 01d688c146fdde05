/**
 * Splits a list of any length into batches that each fit into one request, processes them in parallel and returns the results in
 * order. Memory never holds more batches than may be in flight. `bulk.ts` sends them; `results.ts` passes the results on.
 */

import { utf8 } from '../../token/bytes.ts';
import { onAbort } from '../call/abort-listeners.ts';

/** Input of the bulk methods: an array, a generator, the lines of a file, or the rows of a database. */
export type Source<T> = Iterable<T> | AsyncIterable<T>;

export const MAX_ITEMS = 5_000;
/** Highest number of bytes in one request. The service documents 1 MB; this is the stricter interpretation. */
export const MAX_BYTES = 1_000_000;

/** Matches text that takes more bytes as JSON in UTF-8: anything but printable ASCII without quotation mark and backslash. */
const LONGER_AS_JSON = /[^ !#-[\]-~]/;

/** Count the bytes of `text` as JSON in UTF-8, with its quotation marks and a comma. */
export function jsonBytes(text: string): number {
  return LONGER_AS_JSON.test(text) ? utf8(JSON.stringify(text)).length + 1 : text.length + 3;
}

/** Reserves space for items of `bytes`, {@link MAX_ITEMS} with `maxBytes` in total; returns false for one that does not fit. */
export function createCapacity(maxBytes: number): (bytes: number) => boolean {
  let items = 0;
  let usedBytes = 0;
  return (bytes) => {
    if (items === MAX_ITEMS || usedBytes + bytes > maxBytes) return false;
    items++;
    usedBytes += bytes;
    return true;
  };
}

export interface Batch<S> {
  /**
   * Returns false, and adds nothing, if the batch is full. An empty batch accepts any item. Items go into a few long arrays: a
   * hundred thousand objects in flight would be copied several times by the garbage collector.
   */
  add(item: S): boolean;
}

/** @throws whatever the source or the batch throws, after the full batches before it. */
export async function* batchesOf<S, B extends Batch<S>>(
  source: Source<S>,
  start: () => B,
): AsyncGenerator<B, void, undefined> {
  let batch: B | undefined;
  const put = (item: S): B | undefined => {
    if (batch?.add(item)) return undefined;
    const full = batch;
    batch = start();
    batch.add(item);
    return full;
  };
  if (Symbol.asyncIterator in source) {
    for await (const item of source) {
      const full = put(item);
      if (full) yield full;
    }
  } else {
    // `for await` would create a promise for each array element, which takes longer than all other work.
    for (const item of source) {
      const full = put(item);
      if (full) yield full;
    }
  }
  if (batch) yield batch;
}

/** A batch in flight. `read` is set when it has finished: it returns the result or throws the failure. */
interface Slot<R> {
  /** One for each batch, because Node warns of a leak if one signal has more than ten listeners. */
  readonly controller: AbortController;
  read?: () => R;
}

function createSlots<R>() {
  const slots: Slot<R>[] = [];
  let notify = () => {};
  return {
    start: (task: (signal: AbortSignal) => Promise<() => R>) => {
      const slot: Slot<R> = { controller: new AbortController() };
      slots.push(slot);
      const finish = (read: () => R) => {
        slot.read = read;
        notify();
      };
      task(slot.controller.signal).then(finish, (e) => {
        // A task may have more than one request in flight: abort the others.
        slot.controller.abort(e);
        finish(() => {
          throw e;
        });
      });
    },
    /** Remove the first slot if it has finished. */
    shift: (): (() => R) | undefined => (slots[0]?.read ? slots.shift()!.read : undefined),
    abort: (reason: unknown) => {
      for (const { controller } of slots) controller.abort(reason);
    },
    /** Resolves at the next change. Racing a promise that lives as long as the job would keep every result in memory. */
    changed: () =>
      new Promise<void>((resolve) => {
        notify = resolve;
      }),
    notify: () => notify(),
    get length() {
      return slots.length;
    },
  };
}

/**
 * Process batches in parallel and yield the results in the order of the batches, also while the source has not produced the next
 * one. A failure is thrown at its position in the order. After it, or when the reader stops early, the remaining work is aborted.
 * @param max   highest number of batches in flight or waiting to be read.
 * @param work  its signal aborts with `outer` or when reading ends early. The function that it returns is called when the reader
 *   reaches the result, so that waiting results may stay in a more compact form.
 * @throws the first failure of source or work, or the reason of `outer`.
 */
export async function* inOrder<B, R>(
  batches: AsyncGenerator<B, void, undefined>,
  max: number,
  outer: AbortSignal | undefined,
  work: (batch: B, signal: AbortSignal) => Promise<() => R>,
): AsyncGenerator<R, void, undefined> {
  outer?.throwIfAborted();
  const slots = createSlots<R>();
  let isPulling = false;
  let isEnded = false;
  let isClosed = false;
  const stopListening = onAbort(outer, () => {
    slots.abort(outer?.reason);
    slots.notify();
  });

  const pull = async () => {
    isPulling = true;
    try {
      const { value, done } = await batches.next();
      if (done) isEnded = true;
      else if (!isClosed) slots.start((signal) => work(value, signal));
    } catch (e) {
      // The source failed. The results of earlier batches come first.
      isEnded = true;
      slots.start(() => Promise.reject(e));
    }
    isPulling = false;
    slots.notify();
  };

  try {
    for (;;) {
      outer?.throwIfAborted();
      if (!isEnded && !isPulling && slots.length < max) pull();
      const read = slots.shift();
      if (read) yield read();
      else if (slots.length > 0 || isPulling) await slots.changed();
      else return;
    }
  } finally {
    isClosed = true;
    stopListening();
    slots.abort(new DOMException('reading has ended', 'AbortError'));
    const closing = batches.return();
    // A source that has not produced its next item yet must not block the reader.
    if (isPulling) closing.catch(() => {});
    else await closing;
  }
}
