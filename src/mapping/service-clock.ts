/**
 * Estimates the service's time from its answers. All instants in the database are the service's; the local clock may be off.
 */

export interface ServiceClock {
  /** The local clock, epoch ms. */
  localNow(): number;
  /** Convert a local time to the service's, by the offset of the last answer. */
  toServiceTime(localAt: number): number;
  /** The service's time now, epoch ms. */
  now(): number;
  /** Learn the offset from an answer that has just arrived with the service's time. */
  observe(answeredAt: number): void;
}

/**
 * Create a clock without an offset.
 *
 * @param localNow  the local clock, epoch ms. Taken for the service's until the first answer.
 */
export function createServiceClock(localNow: () => number): ServiceClock {
  let aheadMs = 0;
  const toServiceTime = (localAt: number) => localAt - aheadMs;
  return {
    localNow,
    toServiceTime,
    now: () => toServiceTime(localNow()),
    observe: (answeredAt) => {
      aheadMs = localNow() - answeredAt;
    },
  };
}
