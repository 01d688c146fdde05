/**
 * The tabs of one browser profile: one of them refreshes, and all are notified.
 *
 * A message says only that the stored record has changed; the record itself stays in the store. Channel and lock are both
 * optional: without a channel, tabs find changes when they read the store; without a lock, the lease in the record decides.
 */

import { ignoreFailure } from '../ignore-failure.ts';
import { withTimeout } from '../timeout.ts';

/** Time limit of a lock request, ms. A browser that does not answer in time has no usable lock. */
const LOCK_MS = 2_000;

/**
 * Messages on the channel: `LOOK` when a tab connects, gives up an attempt, or has learned from `provide` that nobody is signed in;
 * `CHANGED` after it has changed the record.
 */
const LOOK = 0;
const CHANGED = 1;

/** The result of a lock request: this tab holds the lock, another tab holds it, or no lock is available. */
export type LockResult = 'held' | 'taken' | 'missing';

/**
 * Connect to the tabs that share `name`.
 *
 * @param onMessage  called when another tab has changed the record (true), or sends any other message (false).
 */
export function createTabs(name: string, onMessage: (isChanged: boolean) => void) {
  let channel: BroadcastChannel | undefined;

  const connect = (): BroadcastChannel => {
    const connected = new BroadcastChannel(name);
    connected.onmessage = ({ data }) => onMessage(data === CHANGED);
    return connected;
  };

  return {
    /**
     * Notify the other tabs that the record has changed, or, with false, that they should check whether to start an attempt.
     * Connects first if there is no connection. Does nothing without BroadcastChannel, as in a sandboxed frame.
     */
    notify: (isChanged = true): void =>
      ignoreFailure(() => {
        channel ??= connect();
        channel.postMessage(isChanged ? CHANGED : LOOK);
      }),

    disconnect(): void {
      channel?.close();
      channel = undefined;
    },

    /**
     * Request the lock, do `work`, release the lock. Does not wait if another tab holds the lock.
     *
     * @param work  receives `missing` on a plain-http page, in a sandboxed frame, or if the browser does not answer.
     * @throws      what `work` rejects with.
     */
    async withLock<T>(work: (lock: LockResult) => Promise<T>): Promise<T> {
      let release!: () => void;
      // Created before the request: a lock that is granted too late is released at once.
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const request = new Promise<LockResult>((resolve, reject) => {
        const onGranted = (lock: Lock | null) => {
          resolve(lock ? 'held' : 'taken');
          return lock && released;
        };
        navigator.locks.request(name, { ifAvailable: true }, onGranted).catch(reject);
      });
      try {
        return await work(await withTimeout(LOCK_MS, request, 'the lock').catch(() => 'missing' as const));
      } finally {
        release();
      }
    },
  };
}
