/** Estimates the service's time from its answers. All instants in the database are the service's; the local clock may be off. */

export type ServiceClock = ReturnType<typeof createServiceClock>;

/** `localNow`, epoch ms, is taken for the service's clock until the first answer. */
export function createServiceClock(localNow: () => number) {
  let aheadMs = 0;
  let answers = 0;
  let lastAnsweredAt = 0;
  let latestAt = 0;
  return {
    /** The service's time now, epoch ms, by the offset of the last answer. */
    now: (): number => localNow() - aheadMs,
    /** The latest time of an answer so far, epoch ms: the nodes of a service may have different clocks. 0 before the first. */
    get latestAt() {
      return latestAt;
    },
    /** This moment in the service's time, epoch ms: the next answer corrects and fixes it, whatever the local clock does. */
    mark: (): (() => number) => {
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
    /** Learn the offset from an answer that has just arrived with the service's time. */
    observe: (answeredAt: number): void => {
      aheadMs = localNow() - answeredAt;
      lastAnsweredAt = answeredAt;
      latestAt = Math.max(latestAt, answeredAt);
      answers++;
    },
  };
}
