/**
 * Limits the number of claims that the jobs of a store have at the same time. On PostgreSQL each claim occupies a connection while
 * the service works; without a limit, two jobs would leave none for `find`, or wait for one until they fail.
 */

export interface ClaimSlots {
  /** Wait for a slot, in the order of the calls. The result releases it; call it once. */
  take(): Promise<() => void>;
}

export function createClaimSlots(count: number): ClaimSlots {
  let free = count;
  const waiting: (() => void)[] = [];
  const release = (): void => {
    const next = waiting.shift();
    if (next) next();
    else free++;
  };
  return {
    take: async () => {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      return release;
    },
  };
}
