/**
 * What the service's clock says, as far as this process knows: every instant in the store is the service's own, and the
 * local clock may be off.
 */

export interface ServiceClock {
  /** The local clock, epoch ms. */
  local(): number;
  /** What the service's clock said when the local one said `local`, as far as the last answer tells. */
  at(local: number): number;
  /** An answer has come, with the service's time in it. */
  hear(answeredAt: number): void;
}

/** @param local  the local clock, epoch ms; believed until the first answer. */
export function createServiceClock(local: () => number): ServiceClock {
  let aheadMs = 0;
  return {
    local,
    at: (then) => then - aheadMs,
    hear: (answeredAt) => {
      aheadMs = local() - answeredAt;
    },
  };
}
