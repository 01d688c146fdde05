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

/** Results from a way of starting to read them in batches. */
export const resultsOf = <T>(read: () => AsyncGenerator<readonly T[], void, undefined>): Results<T> => ({
  batches: read,
  async *[Symbol.asyncIterator]() {
    for await (const batch of read()) yield* batch;
  },
  async toArray() {
    const all: T[] = [];
    for await (const batch of read()) for (const result of batch) all.push(result);
    return all;
  },
});
