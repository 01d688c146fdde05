/**
 * Wait. Unlike `setTimeout` of `node:timers/promises`, it runs on the global timers, which tests replace and count.
 *
 * @param signal  ends the pause early, without a rejection: the caller checks the signal.
 */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end, { once: true });
  });
}
