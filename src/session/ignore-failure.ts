/** Calls whose failure is ignored: into the host's code that closes, opens in advance or logs, and messages to other tabs. */

/** Do `work` now; ignore what it throws, and what a promise that it returns rejects with. */
export function ignoreFailure(work: () => unknown): void {
  // An asynchronous function runs at once, and what `work` throws rejects its promise.
  (async () => work())().catch(() => {});
}
