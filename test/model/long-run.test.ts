/** Three simulated days of one profile; `npm run simulate` simulates a month. */

import { expect, test } from 'vitest';
import { runLong } from './long-run.ts';

test.each([1, 2])(
  'three days of reading, sleep, outages and clock changes break no invariant (seed %i)',
  async (seed) => {
    const report = await runLong({ days: 3, seed });
    expect(report.faults).toEqual([]);
    expect(report.wrongTokens).toBe(0);
    expect(report.mostInHalfHour).toBeLessThanOrEqual(15);
    // The least possible number, plus a few requests where pages come and go. Requests in outages do not count.
    expect(report.calls - report.callsInOutages).toBeLessThanOrEqual(1.2 * report.leastCalls + 5);
    expect(report.leastCalls).toBeGreaterThan(30);
    expect(report.withoutTokenMs).toBeLessThan(0.005 * report.visibleMs);
  },
  60_000,
);
