/** Listeners and their order. Nothing here knows what a session is. */

/**
 * Create the listeners of a session: all get the events in the same order. One that throws or rejects does not affect the others; the
 * browser reports it, as that of an EventTarget.
 */
export function createEvents() {
  const listeners = new Set<readonly [event: string, listener: (payload: never) => unknown]>();
  return {
    /** Listen; returns the unsubscribe function. */
    on(event: string, listener: (payload: never) => unknown): () => void {
      const entry = [event, listener] as const;
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },

    /**
     * Notify all listeners of `event`, each in its own microtask. Microtasks keep their order, so every listener receives the same
     * sequence, even if a listener causes further events.
     */
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
