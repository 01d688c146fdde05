/** Waiting with a limit: for the state to open, or for its answer. The result of the promise is read elsewhere. */

/** Resolve when `promise` has settled, or after `ms`. Never rejects. */
export async function settledWithin(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise.catch(() => {}), limit]);
  clearTimeout(timer);
}
