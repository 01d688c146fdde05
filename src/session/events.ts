/**
 * Listeners: all get the events in the same order, and one that throws or rejects does not affect the others.
 *
 * This file does not decide what to emit.
 */

import { ignoreFailure } from './ignore-failure.ts';

/**
 * Create the listeners of a session.
 *
 * @param logger  receives what a listener threw or rejected with.
 */
export function createEvents(logger: { debug(message: string, ...more: unknown[]): void } | undefined) {
  const listeners = new Set<readonly [event: string, listener: (payload: never) => unknown]>();

  /** Log with the host's logger, if there is one. */
  const log = (what: unknown): void => ignoreFailure(() => logger?.debug('tessera', what));

  return {
    log,

    /** Listen; returns the unsubscribe function. */
    on(event: string, listener: (payload: never) => unknown): () => void {
      // A new entry each time, because the same function may listen more than once.
      const entry = [event, listener] as const;
      listeners.add(entry);
      return () => {
        listeners.delete(entry);
      };
    },

    /**
     * Notify all listeners of `event`, each in its own microtask. Microtasks keep their order, so every listener receives the
     * same sequence, even if a listener causes further events.
     */
    emit(event: string, payload?: unknown): void {
      for (const entry of listeners) {
        const [name, listener] = entry;
        if (name === event)
          Promise.resolve(payload as never)
            // The listener may have been removed meanwhile.
            .then((said) => (listeners.has(entry) ? listener(said) : undefined))
            .catch(log);
      }
    },
  };
}
