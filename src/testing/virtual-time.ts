/**
 * Virtual time: an instant that moves only when it is told to, the timers that wait for it, and what a page reads its clock from.
 *
 * It runs timers one at a time, so that its owner can wait for real work (Web Crypto) in between. What that work is, this file
 * does not know.
 */

import { MAX_TIMER_MS } from '../token/checks.ts';

/** A timer of the queue. */
interface Timer {
  readonly id: number;
  /** Virtual ms since the start. */
  at: number;
  /** Between two calls, ms; undefined: the timer fires once. */
  readonly everyMs: number | undefined;
  readonly call: () => unknown;
}

/** Virtual time and its timers; see {@link createVirtualTime}. */
export type VirtualTime = ReturnType<typeof createVirtualTime>;

/**
 * Wait for one turn of the event loop of this process, whatever clock is installed. The function is taken when this module is
 * loaded. jsdom has no `setImmediate`.
 */
export const turn: () => Promise<void> = (() => {
  const { setImmediate: immediate, setTimeout: timeout } = globalThis;
  const next = immediate ?? ((resolve: () => void) => timeout(resolve, 0));
  return () => new Promise<void>((resolve) => void next(() => resolve()));
})();

/** Create virtual time that stands at `startAt` (epoch ms). */
export function createVirtualTime(startAt: number) {
  let elapsedMs = 0;
  let skewMs = 0;
  let nextId = 1;
  const timers = new Map<number, Timer>();

  const add = (call: unknown, delay: unknown, isRepeated: boolean, args: readonly unknown[]): Timer => {
    // As in browsers and Node: what is no number, or more than a timer accepts, is the shortest delay.
    const number = Math.trunc(Number(delay));
    const delayMs = number >= 1 && number <= MAX_TIMER_MS ? number : 1;
    const run = () => (call as (...given: readonly unknown[]) => unknown)(...args);
    const timer = { id: nextId++, at: elapsedMs + delayMs, everyMs: isRepeated ? delayMs : undefined, call: run };
    timers.set(timer.id, timer);
    // A pause of no length is a way to let others run: it ends without `advance`.
    if (!isRepeated && !(number >= 1)) void turn().then(() => timers.delete(timer.id) && run());
    return timer;
  };

  return {
    /** The service's clock, epoch ms. */
    serviceNow: (): number => startAt + elapsedMs,
    /** The clock of the page's device, epoch ms. */
    deviceNow: (): number => startAt + elapsedMs + skewMs,
    /** Since the start, ms; not affected by a skew. */
    elapsedMs: (): number => elapsedMs,
    /** Set the device's clock `ms` ahead of the service's. */
    skew(ms: number): void {
      skewMs = ms;
    },
    setTimeout: (call: unknown, delay?: unknown, ...args: unknown[]): number => add(call, delay, false, args).id,
    setInterval: (call: unknown, delay?: unknown, ...args: unknown[]): number => add(call, delay, true, args).id,
    /** Remove a timer; false if there is none of this id. */
    clear: (id: number): boolean => timers.delete(id),
    /** How many timers wait. */
    count: (): number => timers.size,
    /**
     * Move to the next timer and run it.
     *
     * @param untilMs  the latest instant, virtual ms since the start; without a timer before it, time moves there.
     * @returns        false if no timer was left.
     */
    step(untilMs: number): boolean {
      let next: Timer | undefined;
      for (const timer of timers.values()) if (!next || timer.at < next.at) next = timer;
      elapsedMs = Math.max(elapsedMs, Math.min(next?.at ?? untilMs, untilMs));
      if (!next || next.at > untilMs) return false;
      if (next.everyMs === undefined) timers.delete(next.id);
      else next.at += next.everyMs;
      next.call();
      return true;
    },
  };
}
