/**
 * Listens to the signal of a caller, who may share one signal among any number of calls. Each signal gets one listener, which
 * calls all functions, because Node 20 warns of a leak when a signal has more than ten.
 */

const functionsOf = new WeakMap<AbortSignal, Set<() => void>>();

/** Call `run` when the signal is aborted. Returns a function that stops listening. */
export function onAbort(signal: AbortSignal | undefined, run: () => void): () => void {
  if (!signal) return () => {};
  const functions = functionsOf.get(signal) ?? new Set();
  functionsOf.set(signal, functions);
  // The same function may be given for several calls.
  const call = (): void => run();
  functions.add(call);
  if (functions.size === 1) signal.addEventListener('abort', callAll);
  return () => {
    functions.delete(call);
    if (functions.size === 0) signal.removeEventListener('abort', callAll);
  };
}

function callAll(this: AbortSignal): void {
  for (const call of functionsOf.get(this) ?? []) call();
}
