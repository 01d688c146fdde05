/**
 * A list of any length in pieces that the service takes: cut by count and bytes, worked on side by side, joined in
 * order. At most as many pieces are in memory as may be in flight, however long the list.
 *
 * It knows nothing of what a piece is sent as: `bulk-endpoints.ts` does, `results.ts` hands the joined pieces out.
 */

/** What the bulk methods read: an array, a generator, the lines of a file, rows of a database. */
export type Source<T> = Iterable<T> | AsyncIterable<T>;

/** Items that the service takes in one request. */
export const MOST_ITEMS = 5_000;
/** Bytes that the service takes in one request: 1 MB in the narrower reading. */
export const MOST_BYTES = 1_000_000;

/** One item and the bytes that it takes in a request, 0 where it is not sent. */
export interface Sized<T> {
  readonly item: T;
  readonly bytes: number;
}

const iteratorOf = <T>(source: Source<T>): Iterator<T> | AsyncIterator<T> =>
  Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();

/**
 * Cut a source into batches of at most {@link MOST_ITEMS} items and `mostBytes`.
 *
 * @param measure  the item as the batch holds it, and its bytes; at most `mostBytes`.
 * @throws what the source or `measure` throws, after the whole batches before it.
 */
export async function* batchesOf<S, T>(
  source: Source<S>,
  mostBytes: number,
  measure: (item: S) => Sized<T>,
): AsyncGenerator<T[], void, undefined> {
  const iterator = iteratorOf(source);
  let batch: T[] = [];
  let filled = 0;
  // While it is asked, the source is on its own: one that ends or fails then needs no `return`.
  let asked = false;
  try {
    for (;;) {
      asked = true;
      // Awaited only where it must be: a promise for each of a million array elements would be most of the time.
      const coming = iterator.next();
      const step = 'then' in coming ? await coming : coming;
      if (step.done) break;
      asked = false;
      const { item, bytes } = measure(step.value);
      if (batch.length === MOST_ITEMS || filled + bytes > mostBytes) {
        yield batch;
        batch = [];
        filled = 0;
      }
      batch.push(item);
      filled += bytes;
    }
  } finally {
    if (!asked) await iterator.return?.();
  }
  if (batch.length > 0) yield batch;
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
 * @param work  gets a signal that aborts with `outer` and when the reading ends early.
 * @throws the first failure of source or work, or the reason of `outer`.
 */
export async function* inOrder<B, R>(
  batches: AsyncGenerator<B, void, undefined>,
  most: number,
  outer: AbortSignal | undefined,
  work: (batch: B, signal: AbortSignal) => Promise<R>,
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
  const start = (begin: (signal: AbortSignal) => Promise<R>) => {
    const slot: Slot<R> = { controller: new AbortController() };
    slots.push(slot);
    begin(slot.controller.signal).then(
      (value) => settle(slot, () => value),
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
