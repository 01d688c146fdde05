/** Days in the life of one profile: `npm run simulate` lives through a month. */

import { expect, test } from 'vitest';
import { runLong } from './long-run.ts';

test.each([1, 2])(
  'three days of reading, sleep, outages and set clocks go well (seed %i)',
  async (seed) => {
    const balance = await runLong({ days: 3, seed });
    expect(balance.faults).toEqual([]);
    expect(balance.wrongTokens).toBe(0);
    expect(balance.mostInHalfHour).toBeLessThanOrEqual(15);
    // One call for each that a perfect tab would have made, those in outages, and a few where pages come and go.
    expect(balance.calls - balance.callsInOutages).toBeLessThanOrEqual(1.2 * balance.leastCalls + 5);
    expect(balance.leastCalls).toBeGreaterThan(30);
    expect(balance.withoutTokenMs).toBeLessThan(0.005 * balance.visibleMs);
  },
  60_000,
);
