/**
 * Batches of requests: those that arrive together are read first, then answered together.
 *
 * Without batches a server reads a request, computes its answer, writes it and turns to the next one. Code that runs between system
 * calls was measured to take two to four times as long, probably because they displace it from the caches of the processor. With 32
 * connections, batches save about 40 % of the CPU time of a refresh (bench/README.md, "What was tried or considered").
 */

/** More requests than these do not make the average one faster, and the first of a batch waits for the last. */
const MAX_REQUESTS = 32;

/**
 * Create the batches of one server.
 *
 * @param afterReads  calls its argument when the host has read what had arrived: `setImmediate` of Node.
 * @returns a function that adds a request to the next batch, and resolves when the batch starts: as soon as it is full, or after
 *   the reads. A request that arrives alone waits for no other.
 */
export function createRequestBatches(afterReads: (run: () => void) => void): () => Promise<void> {
  let waiting: (() => void)[] = [];
  const start = (): void => {
    const batch = waiting;
    waiting = [];
    for (const resolve of batch) resolve();
  };
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) afterReads(start);
      if (waiting.length === MAX_REQUESTS) start();
    });
}
