/**
 * A list of any length in pieces that the service takes: cut by count and bytes, worked on side by side, joined in
 * order. At most as many pieces are in memory as may be in flight, however long the list.
 *
 * It knows nothing of what a piece is sent as: `bulk.ts` says so, `results.ts` hands the joined pieces out.
 */

import { utf8 } from '../token/bytes.ts';

/** What the bulk methods read: an array, a generator, the lines of a file, rows of a database. */
export type Source<T> = Iterable<T> | AsyncIterable<T>;

/** @throws {TypeError} for what is no source, before anything is read; named `name`. */
export function checkSource(name: string, source: unknown): void {
  const listed =
    typeof source === 'object' && source !== null && (Symbol.asyncIterator in source || Symbol.iterator in source);
  if (!listed)
    throw new TypeError(
      `${name}: expected iterable or async iterable, got ${source === null ? 'null' : typeof source}`,
    );
}

/** Items that the service takes in one request. */
export const MOST_ITEMS = 5_000;
/** Bytes that the service takes in one request: 1 MB in the narrower reading. */
export const MOST_BYTES = 1_000_000;

/** Bytes of `text` and a comma in JSON, UTF-8. */
export function jsonBytes(text: string): number {
  return /^[\w+/=@. -]*$/.test(text) ? text.length + 3 : utf8(JSON.stringify(text)).length + 1;
}

/** What one request has room for. */
export interface Room {
  /** Take the room for one more item of `bytes`, unless there is none: then false. */
  take(bytes: number): boolean;
}

/** Room for {@link MOST_ITEMS} items of `mostBytes` in all. */
export function createRoom(mostBytes: number): Room {
  let items = 0;
  let filled = 0;
  return {
    take: (bytes) => {
      if (items === MOST_ITEMS || filled + bytes > mostBytes) return false;
      items++;
      filled += bytes;
      return true;
    },
  };
}

/** A batch as far as it is filled. */
export interface Batch<S> {
  /**
   * Put one more item in, unless there is no room for it: then false. An empty batch has room for any.
   *
   * Items go into a few long arrays: an object for each of a hundred thousand in flight would be moved about by the
   * garbage collector until the answer is there.
   */
  add(item: S): boolean;
}

/**
 * Cut a source into batches.
 *
 * @param start  makes an empty batch.
 * @throws what the source or the batch throws, after the whole batches before it.
 */
export async function* batchesOf<S, B extends Batch<S>>(
  source: Source<S>,
  start: () => B,
): AsyncGenerator<B, void, undefined> {
  let batch: B | undefined;
  /** Put an item in; gives the batch that had no room for it. */
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
    // Not awaited: a promise for each of a million array elements would be most of the time.
    for (const item of source) {
      const full = put(item);
      if (full) yield full;
    }
  }
  if (batch) yield batch;
}

/** A batch under way; once it has an end, `take` gives its result or throws its failure. */
interface Slot<R> {
  /** One for each batch: Node warns of a leak where one signal has more than ten listeners. */
  readonly controller: AbortController;
  take?: () => R;
}

/**
 * Work on batches side by side and give the results in the order of the batches.
 *
 * A result that is ready is given out even while the source keeps the next batch waiting. A failure is thrown in its
 * place of the order; whatever is still in flight is then aborted, as it is when the reader stops.
 *
 * @param most  batches in flight or waiting to be read.
 * @param work  gets a signal that aborts with `outer` and when the reading ends early. It gives a function that is called
 *   when the reader gets there: what waits for its turn may wait in a smaller form.
 * @throws the first failure of source or work, or the reason of `outer`.
 */
export async function* inOrder<B, R>(
  batches: AsyncGenerator<B, void, undefined>,
  most: number,
  outer: AbortSignal | undefined,
  work: (batch: B, signal: AbortSignal) => Promise<() => R>,
): AsyncGenerator<R, void, undefined> {
  outer?.throwIfAborted();
  const slots: Slot<R>[] = [];
  let pulling = false;
  let ended = false;
  let closed = false;
  // Told of every change. No `Promise.race` over a promise that lives as long as the job: it would hold each result.
  let wake = () => {};
  const abort = (reason: unknown) => {
    for (const { controller } of slots) controller.abort(reason);
  };
  const onAbort = () => {
    abort(outer?.reason);
    wake();
  };
  outer?.addEventListener('abort', onAbort);

  const settle = (slot: Slot<R>, take: () => R) => {
    slot.take = take;
    wake();
  };
  const start = (begin: (signal: AbortSignal) => Promise<() => R>) => {
    const slot: Slot<R> = { controller: new AbortController() };
    slots.push(slot);
    begin(slot.controller.signal).then(
      (take) => settle(slot, take),
      (e) =>
        settle(slot, () => {
          throw e;
        }),
    );
  };
  const pull = async () => {
    pulling = true;
    try {
      const { value, done } = await batches.next();
      if (done) ended = true;
      else if (!closed) start((signal) => work(value, signal));
    } catch (e) {
      // The source failed: what it gave before comes first.
      ended = true;
      start(() => Promise.reject(e));
    }
    pulling = false;
    wake();
  };

  try {
    for (;;) {
      outer?.throwIfAborted();
      if (!ended && !pulling && slots.length < most) pull();
      const take = slots[0]?.take;
      if (take) {
        slots.shift();
        yield take();
      } else if (slots.length > 0 || pulling) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      } else return;
    }
  } finally {
    closed = true;
    outer?.removeEventListener('abort', onAbort);
    abort(new DOMException('the reading ended', 'AbortError'));
    const closing = batches.return();
    // A source that is still asked for its next item would hold the reader up.
    if (pulling) closing.catch(() => {});
    else await closing;
  }
}
