/**
 * Estimates the service's time from its answers. All instants in the database are the service's; the local clock may be off.
 */

export interface ServiceClock {
  /** The service's time now, epoch ms, by the offset of the last answer. */
  now(): number;
  /**
   * Mark this moment. The returned function gives it in the service's time, epoch ms. The first answer after the moment corrects
   * it; from then on it is fixed, so that setting the local clock has no effect.
   */
  mark(): () => number;
  /** The latest time of an answer so far, epoch ms: the nodes of a service may have different clocks. 0 before the first. */
  readonly latestAt: number;
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
  let answers = 0;
  let lastAnsweredAt = 0;
  let latestAt = 0;
  return {
    now: () => localNow() - aheadMs,
    get latestAt() {
      return latestAt;
    },
    mark: () => {
      const localAt = localNow();
      const answersBefore = answers;
      let fixedAt: number | undefined;
      return () => {
        if (fixedAt !== undefined) return fixedAt;
        const at = localAt - aheadMs;
        if (answers === answersBefore) return at;
        // An answer is later than the moment before its request, even if the local clock has been set back in between.
        fixedAt = Math.min(at, lastAnsweredAt);
        return fixedAt;
      };
    },
    observe: (answeredAt) => {
      aheadMs = localNow() - answeredAt;
      lastAnsweredAt = answeredAt;
      latestAt = Math.max(latestAt, answeredAt);
      answers++;
    },
  };
}
