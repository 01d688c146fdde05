/**
 * What the bulk methods give: results to read one by one, batch by batch, or all at once.
 *
 * Nothing is asked of the service before the reading starts. The step before is `batch.ts`.
 */

/**
 * Results in the order of the source. Each reading goes through the source, and asks the service, afresh.
 *
 * @example for await (const { dii, ...result } of client.mapIdentities(rows)) await store(dii, result);
 */
export interface Results<T> extends AsyncIterable<T> {
  /** The same in arrays of up to 5,000, as they were sent: for writing many at once. */
  batches(): AsyncIterable<readonly T[]>;
  /** All of them in one array, for lists that fit in memory. */
  toArray(): Promise<T[]>;
}

/**
 * Results of one batch: all are checked, each is made when it is read.
 *
 * Made all at once, those that wait for their reader would be moved about by the garbage collector, which takes longer
 * than making them.
 */
export interface Rows<T> {
  readonly length: number;
  /** The result at `index`, which is below `length`. */
  at(index: number): T;
}

type Batches<T> = AsyncGenerator<Rows<T>, void, undefined>;
type Step<T> = IteratorResult<T, undefined>;

const NO_ROWS: Rows<never> = {
  length: 0,
  at: () => {
    throw new RangeError('no rows');
  },
};

/**
 * The results of batches, one by one.
 *
 * By hand: an async generator makes several promises more for each, which takes longer than mapping it. Like one, it
 * answers in the order in which it is asked, also where it is asked again before it has answered.
 */
const eachOf = <T>(batches: Batches<T>): AsyncIterableIterator<T, undefined> => {
  let batch: Rows<T> = NO_ROWS;
  let next = 0;
  /** The newest step that has to wait; none while the batch at hand has items. */
  let waiting: Promise<Step<T>> | undefined;

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
    const coming = waiting ? waiting.then(step, step) : step();
    const settled = () => {
      if (waiting === coming) waiting = undefined;
    };
    waiting = coming;
    coming.then(settled, settled);
    return coming;
  };

  return {
    next: () =>
      waiting || next === batch.length ? inTurn(one) : Promise.resolve({ value: batch.at(next++), done: false }),
    return: () => inTurn(close),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
};

const listOf = <T>(rows: Rows<T>): T[] => {
  const list: T[] = [];
  for (let i = 0; i < rows.length; i++) list.push(rows.at(i));
  return list;
};

/** Results from a way of starting to read them in batches. */
export function resultsOf<T>(read: () => Batches<T>): Results<T> {
  return {
    async *batches() {
      for await (const rows of read()) yield listOf(rows);
    },
    [Symbol.asyncIterator]: () => eachOf(read()),
    async toArray() {
      const all: T[] = [];
      for await (const rows of read()) for (let i = 0; i < rows.length; i++) all.push(rows.at(i));
      return all;
    },
  };
}
