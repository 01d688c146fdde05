/**
 * The time on this device: never later than the wall clock says, but no step back of it goes unnoticed.
 *
 * Sleep may stop the monotonic clock, so that is a lower bound only: a wall clock that leaps ahead is believed.
 */

/** Clocks are corrected by little all the time. */
const LITTLE_MS = 5_000;

/**
 * Make a clock, epoch ms.
 *
 * @param given  a clock of the host: it is taken at its word.
 */
export const createClock = (given?: () => number) => {
  /** How far the wall clock has been ahead of the monotonic one: that only grows. */
  let leadMs = 0;
  const now = given ?? (() => (leadMs = Math.max(leadMs, Date.now() - performance.now())) + performance.now());
  return {
    now,
    /** How far the wall clock has been set back, ms; 0 for a little. */
    aheadMs: (): number => {
      const aheadMs = given ? 0 : now() - Date.now();
      return aheadMs > LITTLE_MS ? aheadMs : 0;
    },
    /** Go by the wall clock again. */
    follow: (): void => {
      leadMs = 0;
    },
  };
};
