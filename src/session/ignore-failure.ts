/** Runs code whose failure is ignored: the host's code that closes, opens in advance or logs, and messages to other tabs. */

/** Do `work` now; ignore what it throws, and the rejection of a promise that it returns. */
export function ignoreFailure(work: () => unknown): void {
  // An asynchronous function runs at once, and what `work` throws rejects its promise.
  (async () => work())().catch(() => {});
}
