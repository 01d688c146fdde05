/**
 * Answers large requests one after another, so that each answer is sent before the next is computed.
 *
 * Mapping a batch of 5,000 identifiers takes a process 50 to 100 ms. Of batches that arrive together, the operator would otherwise
 * map all before it sends the first answer, and answer no refresh meanwhile.
 */

/** A body from which on a request is large, bytes: some 350 identifiers, which take about 5 ms. */
export const LARGE_BYTES = 16_384;

/**
 * Create the queue of one operator.
 *
 * @returns a function to call before the work of a request, with the length of its body in bytes. It resolves at once for a small
 *   request. Large ones start in the order of the calls, each in a turn of the event loop of its own.
 */
export function createLargeRequests(): (bodyBytes: number) => Promise<void> {
  const waiting: (() => void)[] = [];
  let isBusy = false;
  const startNext = (): void => {
    const start = waiting.shift();
    isBusy = start !== undefined;
    if (!start) return;
    // The work starts before this timer fires, so the event loop sends answers and reads requests in between.
    setTimeout(startNext);
    start();
  };
  return async (bodyBytes) => {
    if (bodyBytes < LARGE_BYTES) return;
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (!isBusy) startNext();
    });
  };
}
