/**
 * The tabs of one browser profile. A message says only that the record is to be read again, and whether an attempt is over.
 * Channel and Web Lock are both optional: without a channel, tabs find changes when they read the store; without a lock, a lease
 * ends by its time.
 */

import { ownMembers } from '../../token/checks.ts';
import { ignoreFailure } from '../../token/errors.ts';
import { withTimeout } from '../timeout.ts';

/** A browser that does not grant or refuse a lock in time has no usable lock, ms. */
const LOCK_MS = 2_000;

/** `onMessage`: read the record again; `isOver`: another tab has ended an attempt. */
export function createTabs(name: string, onMessage: (isOver: unknown) => void) {
  let channel: BroadcastChannel | undefined;

  return {
    /** Send a message; connects first. */
    notify: (isOver?: boolean): void =>
      ignoreFailure(() => {
        if (!channel) {
          channel = new BroadcastChannel(name);
          channel.onmessage = ({ data }) => onMessage(data);
          // A process of Node may end although a session is open.
          (channel as { unref?(): void }).unref?.();
        }
        channel.postMessage(isOver);
      }),

    disconnect(): void {
      channel?.close();
      channel = undefined;
    },

    /**
     * Take the Web Lock of a lease if it is free; returns whether this tab has it now. The tab of the lease takes it before it takes
     * the lease. To others it decides nothing: it only proves that this tab is gone, or has given its attempt up.
     *
     * @param signal  releases the lock at once: a page that holds one is kept out of the back/forward cache.
     */
    takeLock(leaseId: number, signal: AbortSignal): Promise<boolean> {
      const answered = () =>
        new Promise<boolean>((resolve, reject) => {
          const onAnswer = (lock: unknown) => {
            resolve(!!lock);
            // The lock is held until the returned promise settles.
            return lock && !signal.aborted && new Promise((release) => signal.addEventListener('abort', release));
          };
          navigator.locks.request(name + leaseId, ownMembers({ ifAvailable: true }), onAnswer).catch(reject);
        });
      // Locks are missing or blocked if this fails.
      return withTimeout(LOCK_MS, answered, 'lock').catch(() => false);
    },
  };
}
