/**
 * Virtual time: an instant that moves only on request, the timers that wait for it, and the time that a page's clock shows.
 * Timers run one at a time, so that the owner of the time can wait for real work (Web Crypto) in between.
 */

import { MAX_TIMER_MS } from '../token/checks.ts';

export interface Timer {
  readonly id: number;
  /** Virtual ms since the start. */
  at: number;
  readonly delayMs: number;
  readonly isRepeated: boolean;
  /** A zero delay: the timer fires without `advance`. */
  readonly isImmediate: boolean;
  /** Cleared before it fired, so `restart` does not bring it back. */
  isCleared: boolean;
  readonly call: () => unknown;
}

/** Above the identifiers of real timers: clearing a real timer by its number must not clear a virtual one. */
const FIRST_ID = 2 ** 40;

export type VirtualTime = ReturnType<typeof createVirtualTime>;

/** One turn of the event loop, whatever clock is installed: read when this module loads. jsdom has no `setImmediate`. */
export const turn: () => Promise<void> = (() => {
  const { setImmediate: immediate, setTimeout: timeout } = globalThis;
  const next = immediate ?? ((resolve: () => void) => timeout(resolve, 0));
  return () => new Promise<void>((resolve) => void next(() => resolve()));
})();

function createTimers(elapsedMs: () => number) {
  let nextId = FIRST_ID;
  let isClosed = false;
  const timers = new Map<number, Timer>();

  const add = (call: unknown, delay: unknown, isRepeated: boolean, args: readonly unknown[]): Timer => {
    // As in browsers and Node, a value that is not a number, or exceeds the limit of a timer, is the shortest delay.
    const number = Math.trunc(Number(delay));
    const delayMs = number >= 1 && number <= MAX_TIMER_MS ? number : 1;
    const timer = {
      id: nextId++,
      at: 0,
      delayMs,
      isRepeated,
      isImmediate: !isRepeated && !(number >= 1),
      isCleared: false,
      call: () => (call as (...given: readonly unknown[]) => unknown)(...args),
    };
    start(timer);
    return timer;
  };

  const start = (timer: Timer): void => {
    if (isClosed || timer.isCleared) return;
    timer.at = elapsedMs() + timer.delayMs;
    // After the timers of the same instant.
    timers.delete(timer.id);
    timers.set(timer.id, timer);
    // A zero delay is a way to let other code run: it ends without `advance`.
    if (timer.isImmediate) void turn().then(() => timers.delete(timer.id) && timer.call());
  };

  return {
    setTimeout: (call: unknown, delay?: unknown, ...args: unknown[]): Timer => add(call, delay, false, args),
    setInterval: (call: unknown, delay?: unknown, ...args: unknown[]): Timer => add(call, delay, true, args),
    /** Restart the delay of a timer, even of one that has fired. */
    restart: start,
    clear(id: number): boolean {
      const timer = timers.get(id);
      if (timer) timer.isCleared = true;
      return timers.delete(id);
    },
    remove: ({ id }: Timer): boolean => timers.delete(id),
    close(): void {
      isClosed = true;
      timers.clear();
    },
    /** The timers, in the order in which they were started. */
    waiting: timers as ReadonlyMap<number, Timer>,
  };
}

export function createVirtualTime(startAt: number) {
  let elapsedMs = 0;
  let skewMs = 0;
  const { waiting, ...timers } = createTimers(() => elapsedMs);

  return {
    /** The service's clock, epoch ms. */
    serviceNow: (): number => startAt + elapsedMs,
    /** The clock of the page's device, epoch ms. */
    deviceNow: (): number => startAt + elapsedMs + skewMs,
    /** Time since the start, ms; not affected by a skew. */
    elapsedMs: (): number => elapsedMs,
    /** Set the device's clock `ms` ahead of the service's. */
    skew(ms: number): void {
      skewMs = ms;
    },
    ...timers,
    /**
     * Move to the next timer and run it. Returns false if no timer was left.
     * @param untilMs  the latest instant, virtual ms since the start. Without an earlier timer, time moves to it.
     */
    step(untilMs: number): boolean {
      let next: Timer | undefined;
      for (const timer of waiting.values()) if (!next || timer.at < next.at) next = timer;
      elapsedMs = Math.max(elapsedMs, Math.min(next?.at ?? untilMs, untilMs));
      if (!next || next.at > untilMs) return false;
      if (next.isRepeated) next.at += next.delayMs;
      else timers.remove(next);
      next.call();
      return true;
    },
  };
}
