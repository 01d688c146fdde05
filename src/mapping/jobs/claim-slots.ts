/** Limits the claims of a store's jobs: on PostgreSQL each takes a connection, and two jobs would leave none for `find`. */

/** Waits for a slot, in the order of the calls. The result releases it; call it once. */
export type TakeSlot = () => Promise<() => void>;

export function createClaimSlots(count: number): TakeSlot {
  let free = count;
  const waiting: (() => void)[] = [];
  const release = (): void => {
    const next = waiting.shift();
    if (next) next();
    else free++;
  };
  return async () => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return release;
  };
}
