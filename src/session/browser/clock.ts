/**
 * The local time. It never lags behind the wall clock, and it detects every step back of 5 s or more.
 *
 * The monotonic clock may stop while the device sleeps, so it is only a lower bound: a forward jump of the wall clock is
 * accepted.
 */

import { CLOCK_TOLERANCE_MS } from '../rules/record.ts';

/**
 * Create the clock of a session, in epoch ms. It ignores a step back of less than `CLOCK_TOLERANCE_MS`, because devices correct
 * their clocks by small amounts all the time.
 *
 * @param given  a clock supplied by the host, used as it is.
 */
export function createClock(given?: () => number) {
  /** The largest lead of the wall clock over the monotonic clock so far. */
  let leadMs = Number.NEGATIVE_INFINITY;
  const now =
    given ??
    (() => {
      leadMs = Math.max(leadMs, Date.now() - performance.now());
      return leadMs + performance.now();
    });
  return {
    now,
    /**
     * Follow the wall clock if it was set back.
     *
     * @returns how far it was set back, ms; 0 if it was not.
     */
    followStepBack(): number {
      const stepMs = given ? 0 : now() - Date.now();
      if (stepMs < CLOCK_TOLERANCE_MS) return 0;
      leadMs = Number.NEGATIVE_INFINITY;
      return stepMs;
    },
  };
}
