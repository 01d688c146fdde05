/**
 * Starts large requests one after another, so that answers are sent, and refreshes on open connections read, in between.
 *
 * Mapping a batch of 5,000 identifiers takes a process 50 to 100 ms. Of batches that arrive together, the operator would otherwise
 * map all before it sends the first answer. Participants take turns, because one of them can have hundreds of batches waiting.
 */

// Read when this module loads, because a test of the host may replace the timers and never run them.
const { setTimeout: startTimer } = globalThis;

/** A body from which on a request is large, bytes: some 350 identifiers, which take about 5 ms. */
export const LARGE_BYTES = 16_384;

/**
 * Create the queue of one operator.
 *
 * @returns a function to call before the work of a request, with the length of its body in bytes and an identifier of its
 *   participant. It resolves at once for a small request. Each large one starts in a turn of the event loop of its own: those of a
 *   participant in the order of the calls, and participants with waiting requests take turns.
 */
export function createLargeRequests(): (bodyBytes: number, participant: string) => Promise<void> {
  // The participant whose turn is next comes first. No list is empty.
  const waiting = new Map<string, (() => void)[]>();
  let isBusy = false;
  const startNext = (): void => {
    const [next] = waiting;
    isBusy = next !== undefined;
    if (!next) return;
    const [participant, starts] = next;
    const start = starts.shift()!;
    waiting.delete(participant);
    if (starts.length > 0) waiting.set(participant, starts);
    // Two timers, because the work may end inside a timer of another library, such as that of `pg` in Node 20, and one that is due by
    // then would fire in the same turn. Between the two, the event loop sends answers and reads requests.
    startTimer(() => startTimer(startNext));
    start();
  };
  return async (bodyBytes, participant) => {
    if (bodyBytes < LARGE_BYTES) return;
    await new Promise<void>((resolve) => {
      const starts = waiting.get(participant);
      if (starts) starts.push(resolve);
      else waiting.set(participant, [resolve]);
      if (!isBusy) startNext();
    });
  };
}
