/** Listeners and their order. Nothing here knows what a session is. */

/** A listener that throws or rejects does not affect the others; the browser reports it, as that of an EventTarget. */
export function createEvents() {
  const listeners = new Set<readonly [event: string, listener: (payload: never) => unknown]>();
  return {
    /** Listen; returns the unsubscribe function. */
    on(event: string, listener: (payload: never) => unknown): () => void {
      const entry = [event, listener] as const;
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },

    /** Each listener is called in its own microtask, so all receive the same sequence, even if one causes further events. */
    emit(event: string, payload?: unknown): void {
      for (const entry of listeners) {
        if (entry[0] === event)
          Promise.resolve(payload as never)
            // The listener may have been removed meanwhile.
            .then((said) => listeners.has(entry) && entry[1](said))
            // Without `reportError` (Chrome 94) the rejection itself is reported.
            .catch(globalThis.reportError);
      }
    },
  };
}
