/** Counts requests by key in each second of real time, because a simulated clock must not lift a limit that protects the machine. */

export interface RateLimit {
  /** Count one request. Returns undefined if it is within the limit, otherwise how long to wait, ms. */
  take(key: string): number | undefined;
}

const SECOND_MS = 1000;
/** Keys that are counted separately in one second. All further ones share one counter, so that memory stays bounded. */
export const MAX_KEYS = 65_536;
const OTHERS = 'others';

/** @param now  a clock that never goes back, ms. */
export function createRateLimit(perSecond: number, now: () => number = () => performance.now()): RateLimit {
  const counts = new Map<string, number>();
  let endsAt = Number.NEGATIVE_INFINITY;
  return {
    take: (key) => {
      const at = now();
      if (at >= endsAt) {
        counts.clear();
        endsAt = at + SECOND_MS;
      }
      const counted = counts.has(key) || counts.size < MAX_KEYS ? key : OTHERS;
      const count = (counts.get(counted) ?? 0) + 1;
      counts.set(counted, count);
      return count > perSecond ? endsAt - at : undefined;
    },
  };
}
