/** The clock of the page, and the one timer of a session. */

/** Longest run of the timer, ms, so that the session soon notices a changed clock or a device that slept. */
const MAX_SLEEP_MS = 60_000;

/**
 * In epoch ms: the greater of the wall clock and the page's monotonic clock, so time never runs backwards. The monotonic clock
 * may stop while the device sleeps, so a forward jump of the wall clock is accepted.
 *
 * @param given  a clock of the host, used instead as long as it returns a number.
 */
export function createClock(given?: () => number) {
  /** The largest lead of the wall clock over the monotonic clock so far. */
  let leadMs = Number.NEGATIVE_INFINITY;
  /** The lead of other pages over this one. */
  let aheadMs = 0;
  const own = () => {
    leadMs = Math.max(leadMs, Date.now() - performance.now());
    return leadMs + performance.now();
  };
  const now = () => {
    const at = given?.();
    return (Number.isFinite(at) ? (at as number) : own()) + aheadMs;
  };
  return {
    now,
    /**
     * Follow the clock of another page, which has just written `instant`, so that all pages compare the record with one clock: the wall
     * clock, even if it was set back, or that of the other page if it is ahead.
     */
    follow: (instant: number) => {
      leadMs = Number.NEGATIVE_INFINITY;
      aheadMs = 0;
      aheadMs = Math.max(0, instant - now());
    },
  };
}

/**
 * Returns a function that sets the timer to an instant (local epoch ms), replacing the previous one; `Infinity` means no timer.
 * `onTimer`: the instant has come, or a minute has passed.
 */
export function createTimer(now: () => number, onTimer: () => void): (instant: number) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (instant) => {
    clearTimeout(timer);
    const delayMs = instant - now();
    if (delayMs < Number.POSITIVE_INFINITY) {
      timer = setTimeout(onTimer, Math.min(delayMs, MAX_SLEEP_MS));
      // A process of Node may end although a session is open. A timer of a browser is a number.
      (timer as { unref?(): void }).unref?.();
    }
  };
}
