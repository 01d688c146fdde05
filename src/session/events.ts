/**
 * Telling listeners: the same order for everyone, and a listener that throws or rejects harms nobody.
 *
 * It does not know when something is worth telling; the hub does.
 */

import type { TokenError } from '../token/errors.ts';

/** Why another token is in force: supplied by the host, refreshed here, by another tab, or loaded from the store. */
export type Cause = 'set' | 'refresh' | 'tab' | 'load';

/** Why a new set is needed: there is none, the refresh token is at its end, or the service keeps refusing it. */
export type NeedReason = 'empty' | 'ended' | 'refused';

/** Events and their payloads. Instants are epoch ms in the service's time. */
export interface SessionEvents {
  /** The token in force has changed to another good one. */
  token: { advertisingToken: string; expiresAt: number; refreshAt: number; cause: Cause };
  /** The advertising token passed its time with no other in its place; the service ended the refresh token. */
  expired: { token: 'advertising' | 'refresh' };
  /** The service or the host says that the user has opted out. */
  optout: Record<string, never>;
  /** The page should get a new set; once per need. */
  needsTokens: { reason: NeedReason };
  /** Something failed in the background; the session goes on. */
  error: TokenError;
}

export type EventName = keyof SessionEvents;
export type Listener<E extends EventName> = (payload: SessionEvents[E]) => unknown;

/**
 * Keep listeners.
 *
 * @param logger  told what a listener threw or rejected with.
 */
export function createEvents(logger: { debug(message: string, ...more: unknown[]): void } | undefined) {
  const log = (what: unknown): void => {
    try {
      logger?.debug('tessera', what);
    } catch {}
  };
  const listeners = new Set<[name: string, listener: (payload: never) => unknown]>();
  return {
    /** Tell the host's logger, if there is one. */
    log,
    /** Listen; returns the unsubscribe function. */
    on: (name: string, listener: (payload: never) => unknown): (() => void) => {
      // An entry of its own: the same function may listen more than once.
      const own: [string, typeof listener] = [name, listener];
      listeners.add(own);
      return () => {
        listeners.delete(own);
      };
    },
    /**
     * Tell all listeners of `name`, each in a microtask of its own. Microtasks keep their order, so every listener hears
     * the same one, also where listeners bring about more; a throw and a rejection end in the same place.
     */
    emit: (name: string, payload?: unknown): void => {
      for (const [heard, listener] of listeners)
        if (heard === name)
          Promise.resolve(payload as never)
            .then(listener)
            .catch(log);
    },
  };
}
