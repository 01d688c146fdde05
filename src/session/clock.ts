/**
 * The time on this device: never behind the wall clock, and no step back of that goes unnoticed.
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
export function createClock(given?: () => number) {
  /** How far the wall clock has been ahead of the monotonic one: that only grows. */
  let leadMs = 0;
  const now = given ?? (() => (leadMs = Math.max(leadMs, Date.now() - performance.now())) + performance.now());
  return {
    now,
    /** Go by the wall clock where it has been set back; returns by how much, ms: 0 for a little, which is left alone. */
    rewind: (): number => {
      const backMs = given ? 0 : now() - Date.now();
      if (backMs < LITTLE_MS) return 0;
      leadMs = 0;
      return backMs;
    },
  };
}
