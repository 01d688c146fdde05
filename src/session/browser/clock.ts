/** The clock of the page, and the one timer of a session. */

/** Longest run of the timer, ms, so that the session soon notices a changed clock or a device that slept. */
const MAX_SLEEP_MS = 60_000;

/**
 * Create the clock of a page, in epoch ms: the greater of the wall clock and the page's monotonic clock, so time never runs backwards.
 * The monotonic clock may stop while the device sleeps, so a forward jump of the wall clock is accepted.
 *
 * @param given  a clock supplied by the host, used as it is.
 */
export function createClock(given?: () => number) {
  /** The largest lead of the wall clock over the monotonic clock so far. */
  let leadMs = Number.NEGATIVE_INFINITY;
  const now = () => {
    leadMs = Math.max(leadMs, Date.now() - performance.now());
    return leadMs + performance.now();
  };
  return {
    now: given ?? now,
    /**
     * Follow the wall clock, even if it was set back: another page has written a set by its own clock, which cannot be compared with
     * one that is ahead of the wall clock.
     */
    follow: () => {
      leadMs = Number.NEGATIVE_INFINITY;
    },
  };
}

/**
 * Create a timer.
 *
 * @param now  local clock, epoch ms.
 * @param onTimer  the timer has reached its instant, or a minute has passed.
 * @returns sets the timer to an instant (local epoch ms), replacing the previous one; `Infinity` means no timer.
 */
export function createTimer(now: () => number, onTimer: () => void): (instant: number) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (instant) => {
    clearTimeout(timer);
    const delayMs = instant - now();
    // False for NaN, which the host's clock may return.
    if (delayMs < Number.POSITIVE_INFINITY) timer = setTimeout(onTimer, Math.min(delayMs, MAX_SLEEP_MS));
  };
}
