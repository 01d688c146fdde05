/**
 * The tabs of one browser profile: one of them refreshes, all are told.
 *
 * What is told is only that the stored record has changed; the record itself never leaves the store. Both means are
 * optional: where the browser has or allows no channel, tabs find out by looking; where it has no lock, the record says
 * who is at it.
 */

import { within } from './deadline.ts';

/** A browser that says nothing for so long has no lock to give. */
const LOCK_MS = 2_000;

/**
 * Join the tabs that share `name`.
 *
 * @param onTold  called when another tab has joined, or tells that it has changed the record.
 */
export function joinTabs(name: string, onTold: (isNews: unknown) => void) {
  let channel: BroadcastChannel | undefined;

  return {
    meet: (): void => {
      if (!channel)
        try {
          channel = new BroadcastChannel(name);
          channel.onmessage = ({ data }) => onTold(data);
          // Chromium may keep a page in its cache in the middle of making the database, and all others wait: news evict it.
          channel.postMessage(0);
        } catch {}
    },
    /** Tell the other tabs that the record has changed. */
    tell: (): void => channel?.postMessage(1),
    /**
     * Do `work` as the only tab; a lock that is taken is not waited for.
     *
     * @param work  is told whether there is a lock. There is none on a plain-http page, in a sandboxed frame, or where
     *   the browser does not come round to it.
     * @returns  false where another is at it: nothing was done; else what `work` returns.
     * @throws   what `work` rejects with.
     */
    alone: (work: (hasLock: boolean) => Promise<boolean>): Promise<boolean> => {
      let free!: () => void;
      // Made beforehand: a lock that is given too late is freed at once.
      const done = new Promise<void>((resolve) => (free = resolve));
      const lock = new Promise<Lock | null>((resolve, reject) => {
        const taken = (given: Lock | null) => {
          resolve(given);
          return given && done;
        };
        navigator.locks.request(name, { ifAvailable: true }, taken).catch(reject);
      });
      return within(LOCK_MS, lock)
        .catch(() => undefined)
        .then((given) => given !== null && work(!!given))
        .finally(free);
    },
    part: (): void => {
      channel?.close();
      channel = undefined;
    },
  };
}
