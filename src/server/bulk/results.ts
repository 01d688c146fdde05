/** The results of the bulk methods, to be read one by one, by batch, or all at once. No request is sent before reading starts. */

/**
 * Results in the order of the source. Each iteration, and each `await`, reads the source and sends the requests again.
 * @example for await (const { dii, ...result } of client.mapIdentities(rows)) await store(dii, result);
 * @example const all = await client.mapIdentities(rows); // an array, as of toArray()
 */
export interface Results<T> extends AsyncIterable<T>, PromiseLike<T[]> {
  /** Iterate over arrays of up to 5,000 results, one array for each batch, for example to write many at once. */
  batches(): AsyncIterable<readonly T[]>;
  /** Read all results into one array. */
  toArray(): Promise<T[]>;
}

/** The results of a batch, all checked. Each object is created when it is read: the garbage collector would copy waiting ones. */
export interface Rows<T> {
  readonly length: number;
  at(index: number): T;
}

type Batches<T> = AsyncGenerator<Rows<T>, void, undefined>;
type Step<T> = IteratorResult<T, undefined>;

const NO_ROWS: Rows<never> = {
  length: 0,
  at: () => {
    throw new RangeError('index: expected none, because the batch is empty');
  },
};

/**
 * Not an async generator, which creates several more promises for each result and takes longer than the mapping itself. Like a
 * generator, it answers overlapping calls in order.
 */
function eachOf<T>(batches: Batches<T>): AsyncIterableIterator<T, undefined> {
  let batch: Rows<T> = NO_ROWS;
  let next = 0;
  /** The last call that is waiting for a batch; undefined while the current batch has results. */
  let pending: Promise<Step<T>> | undefined;

  const one = async (): Promise<Step<T>> => {
    while (next === batch.length) {
      const { value, done } = await batches.next();
      if (done) return { value: undefined, done };
      batch = value;
      next = 0;
    }
    return { value: batch.at(next++), done: false };
  };
  const close = async (): Promise<Step<T>> => {
    batch = NO_ROWS;
    next = 0;
    await batches.return();
    return { value: undefined, done: true };
  };
  const inTurn = (step: () => Promise<Step<T>>): Promise<Step<T>> => {
    const result = pending ? pending.then(step, step) : step();
    const onSettled = () => {
      if (pending === result) pending = undefined;
    };
    pending = result;
    result.then(onSettled, onSettled);
    return result;
  };

  return {
    next: () =>
      pending || next === batch.length ? inTurn(one) : Promise.resolve({ value: batch.at(next++), done: false }),
    return: () => inTurn(close),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

function listOf<T>(rows: Rows<T>): T[] {
  const list: T[] = [];
  for (let i = 0; i < rows.length; i++) list.push(rows.at(i));
  return list;
}

export function resultsOf<T>(read: () => Batches<T>): Results<T> {
  const toArray = async (): Promise<T[]> => {
    const all: T[] = [];
    for await (const rows of read()) for (let i = 0; i < rows.length; i++) all.push(rows.at(i));
    return all;
  };
  return {
    async *batches() {
      for await (const rows of read()) yield listOf(rows);
    },
    [Symbol.asyncIterator]: () => eachOf(read()),
    toArray,
    // biome-ignore lint/suspicious/noThenProperty: without it, `await` returns this object, and nothing is sent.
    then: (onFulfilled, onRejected) => toArray().then(onFulfilled, onRejected),
  };
}
