/**
 * Shares the thread between large requests and all others: answers are sent, and refreshes read, between two large requests and
 * within one.
 *
 * Mapping a batch of 5,000 identifiers takes a process 50 to 100 ms. Participants take turns, because one of them can have hundreds
 * of batches waiting.
 */

type Run = (callback: () => void) => void;
// Node's `setImmediate` runs after the event loop has read what has arrived. Other hosts have only timers. Read when this module
// loads, because a test of the host may replace them and never run them.
const { setTimeout: startTimer } = globalThis;
const { setImmediate: nextTurn = startTimer as Run } = globalThis as { readonly setImmediate?: Run };

/** A body from which on a request is large, bytes: some 350 identifiers, which take about 5 ms. */
export const LARGE_BYTES = 16_384;

/** How long a request works before it lets others run, ms. */
const WORK_MS = 1;

/** Lets other requests run, if this one has worked for long. To be called in every long loop; a promise must be awaited. */
export type Pause = () => Promise<void> | undefined;

/** A caller that has closed the connection: {@link Pause} rejects with it, because nobody reads the answer. */
export class CallerGone extends Error {
  override readonly name = 'CallerGone';
}

/** A request whose work begins. */
export interface Work {
  /** Length of its body, bytes. */
  readonly bodyBytes: number;
  /** Identifies the participant. */
  readonly participant: string;
  readonly isGone: () => boolean;
}

/**
 * Create the queue of one operator.
 *
 * @returns a function to call before the work of a request. It resolves at once for a small request. Each large one starts in a turn
 *   of the event loop of its own, and continues in another one after each pause: those of a participant in the order of the calls,
 *   and participants with waiting requests take turns.
 */
export function createLargeRequests(now: () => number = () => performance.now()): (work: Work) => Promise<Pause> {
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
    // Two turns: the work may end in the first, after the event loop has read. Between the two, it sends answers and reads requests.
    nextTurn(() => nextTurn(startNext));
    start();
  };
  const turnOf = (participant: string, isStarted: boolean): Promise<void> =>
    new Promise((resolve) => {
      const starts = waiting.get(participant) ?? [];
      // A participant that has just worked comes after the others, with the request that it has started.
      if (isStarted) waiting.delete(participant);
      waiting.set(participant, isStarted ? [resolve, ...starts] : [...starts, resolve]);
      if (!isBusy) startNext();
    });
  return async ({ bodyBytes, participant, isGone }) => {
    if (bodyBytes >= LARGE_BYTES) await turnOf(participant, false);
    let until = now() + WORK_MS;
    return () => {
      if (now() < until) return undefined;
      return turnOf(participant, true).then(() => {
        if (isGone()) throw new CallerGone();
        until = now() + WORK_MS;
      });
    };
  };
}
