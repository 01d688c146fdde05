/**
 * The tabs of one browser profile: one of them refreshes, all are told.
 *
 * What is told is only that the stored record has changed; the record itself never leaves the store. Both means are
 * optional: where the browser has or allows no lock or channel, the page goes on alone.
 */

/**
 * Join the tabs that share `name`.
 *
 * @param onTold  called when another tab has told that the record has changed.
 */
export const joinTabs = (name: string, onTold: () => void) => {
  let channel: BroadcastChannel | undefined;
  try {
    channel = new BroadcastChannel(name);
    channel.onmessage = onTold;
  } catch {}

  return {
    /** Tell the other tabs that the record has changed. */
    tell: (): void => channel?.postMessage(0),
    /**
     * Do `work` as the only tab; a lock that is taken is not waited for.
     *
     * @returns  false where another tab is at it: nothing was done.
     * @throws   what `work` rejects with.
     */
    alone: async (work: () => Promise<unknown>): Promise<boolean> => {
      let mine: boolean | undefined;
      try {
        await navigator.locks.request(name, { ifAvailable: true }, (lock) => {
          mine = !!lock;
          return lock && work();
        });
      } catch (error) {
        if (mine) throw error;
        // No answer at all: there are no locks here (plain http), or they are refused (a sandboxed frame).
        mine = true;
        await work();
      }
      return mine as boolean;
    },
    close: () => channel?.close(),
  };
};
