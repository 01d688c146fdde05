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
 * @param onTold  called when another tab has told that the record has changed.
 */
export const joinTabs = (name: string, onTold: () => void) => {
  let channel: BroadcastChannel | undefined;
  const page = globalThis as Record<symbol, unknown>;
  /** Another copy of this code in the same page, of any version, shows here that it is at it. */
  const flag = Symbol.for(`tessera:${name}`);

  return {
    meet: (): void => {
      if (channel) return;
      try {
        channel = new BroadcastChannel(name);
        channel.onmessage = onTold;
        // Chromium may keep a page in its cache in the middle of making the database, and all others wait: news evict it.
        channel.postMessage(0);
      } catch {}
    },
    /** Tell the other tabs that the record has changed. */
    tell: (): void => channel?.postMessage(0),
    /**
     * Do `work` as the only tab; a lock that is taken is not waited for.
     *
     * @param work  is told whether there is a lock. There is none on a plain-http page, in a sandboxed frame, or where
     *   the browser does not come round to it: then only other copies in this page are kept out.
     * @returns  false where another is at it: nothing was done; else what `work` returns.
     * @throws   what `work` rejects with.
     */
    alone: async (work: (hasLock: boolean) => Promise<boolean>): Promise<boolean> => {
      let free = () => {};
      const done = new Promise<void>((resolve) => (free = resolve));
      const lock = await within(
        LOCK_MS,
        new Promise<Lock | null>((resolve, reject) => {
          const taken = (given: Lock | null) => {
            resolve(given);
            return given && done;
          };
          navigator.locks.request(name, { ifAvailable: true }, taken).catch(reject);
        }),
      ).catch(() => undefined);
      const isTaken = lock === null || page[flag];
      if (!isTaken) page[flag] = true;
      return (isTaken ? Promise.resolve(false) : work(!!lock)).finally(() => {
        free();
        if (!isTaken) delete page[flag];
      });
    },
    part: (): void => {
      channel?.close();
      channel = undefined;
    },
  };
};
