/**
 * The rate limit: a number of requests per second for each participant.
 *
 * It counts in real time, not by the operator's clock: the limit protects the machine, and a simulated clock must not
 * lift it.
 */

/** Counts requests by participant. */
export interface RateLimit {
  /** Count one request. Returns undefined if it is within the limit, else how long to wait, ms. */
  take(key: string): Promise<number | undefined>;
}

const SECOND_MS = 1000;

/** Create a rate limit that counts in the memory of this process. The first request of a participant starts its second. */
export function memoryRateLimit(perSecond: number): RateLimit {
  const seconds = new Map<string, { readonly endsAt: number; count: number }>();
  return {
    take: async (key) => {
      const now = performance.now();
      let second = seconds.get(key);
      if (!second || now >= second.endsAt) {
        second = { endsAt: now + SECOND_MS, count: 0 };
        seconds.set(key, second);
      }
      second.count++;
      return second.count > perSecond ? second.endsAt - now : undefined;
    },
  };
}
