/**
 * The time on this device: it never runs behind the wall clock, and no step back of 5 s or more goes unnoticed.
 *
 * The monotonic clock may stop while the device sleeps, so it is only a lower bound: a wall clock that jumps ahead is accepted.
 */

import { CLOCK_TOLERANCE_MS } from '../rules/record.ts';

/**
 * Create the clock of a session, epoch ms. Clocks are corrected by small amounts all the time: a step back by less than
 * `CLOCK_TOLERANCE_MS` is ignored.
 *
 * @param given  a clock of the host, used as it is.
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
     * @returns by how much it was set back, ms; 0 if it was not.
     */
    followStepBack(): number {
      const stepMs = given ? 0 : now() - Date.now();
      if (stepMs < CLOCK_TOLERANCE_MS) return 0;
      leadMs = Number.NEGATIVE_INFINITY;
      return stepMs;
    },
  };
}
