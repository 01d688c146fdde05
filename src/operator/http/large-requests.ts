/**
 * Shares the thread: answers are sent, and refreshes read, between two large requests and within one. A batch of 5,000
 * identifiers takes 50 to 100 ms. Participants take turns, because one of them can have hundreds of batches waiting.
 */

import type { Pause } from '../endpoints/endpoint.ts';

type Run = (callback: () => void) => void;
/** Other hosts than Node have no `setImmediate`. Read on load: a test of the host may replace the timers and never run them. */
const { setTimeout: startTimer } = globalThis;
const { setImmediate: nextTurn = startTimer as Run } = globalThis as { readonly setImmediate?: Run };
/** The first turn may come before the event loop reads again; between the two, it sends answers and reads requests. */
const afterReads: Run = (run) => nextTurn(() => nextTurn(run));

/** A body from which on a request is large, bytes: some 350 identifiers, which take about 5 ms. */
export const LARGE_BYTES = 16_384;

/**
 * How long a request works before it lets others run, ms. A refresh beside batches takes 3 ms (99 %); with 1 or 0.1 ms of work, it
 * would take 6.3 or 2.8. With less, batches lose more than others gain.
 */
export const WORK_MS = 0.25;

/** A caller that has closed the connection: a turn rejects with it, because nobody reads the answer. */
export class CallerGone extends Error {
  override readonly name = 'CallerGone';
}

export interface Work {
  /** Length of its body, bytes. */
  readonly bodyBytes: number;
  readonly participant: string;
  readonly isGone: () => boolean;
}

/** Requests of one participant that wait for a turn, in the order in which they came. */
interface Waiting {
  readonly started: (() => void)[];
  readonly fresh: (() => void)[];
}

/**
 * @param now  a clock that never goes back, ms.
 * @returns a function to call before the work of a request. A small one starts at once, a large one in a turn of the event loop
 *   of its own; each continues in another one after a pause. Participants take turns; of one, those that have started come first.
 */
export function createLargeRequests(now: () => number = () => performance.now()): (work: Work) => Promise<Pause> {
  // The participant whose turn is next comes first. One of its lists is not empty.
  const waiting = new Map<string, Waiting>();
  let isBusy = false;
  const startNext = (): void => {
    const [next] = waiting;
    isBusy = next !== undefined;
    if (!next) return;
    const [participant, { started, fresh }] = next;
    const start = (started.shift() ?? fresh.shift())!;
    waiting.delete(participant);
    if (started.length + fresh.length > 0) waiting.set(participant, { started, fresh });
    afterReads(startNext);
    start();
  };
  const turnOf = (participant: string, list: keyof Waiting): Promise<void> =>
    new Promise((resolve) => {
      const lists = waiting.get(participant) ?? { started: [], fresh: [] };
      lists[list].push(resolve);
      waiting.set(participant, lists);
      if (isBusy) return;
      if (list === 'fresh') return startNext();
      isBusy = true;
      afterReads(startNext);
    });
  return async ({ bodyBytes, participant, isGone }) => {
    let until = 0;
    const takeTurn = async (list: keyof Waiting): Promise<void> => {
      await turnOf(participant, list);
      if (isGone()) throw new CallerGone();
      until = now() + WORK_MS;
    };
    if (bodyBytes < LARGE_BYTES) until = now() + WORK_MS;
    else await takeTurn('fresh');
    return () => (now() < until ? undefined : takeTurn('started'));
  };
}
