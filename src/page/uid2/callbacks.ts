/**
 * The functions of the page that receive events: `callbacks` of the global, and the deprecated ones of `init`. One that throws or
 * rejects does not stop the others.
 */

import { LEGACY, type LegacyStatus } from './status.ts';
import type { Callback, CallbackPayload, EventType, Identity, LegacyCallback } from './types.ts';

export function run(work: () => unknown): void {
  // Without `reportError` (Chrome 94) the rejection itself appears in the console.
  (async () => work())().catch(globalThis.reportError);
}

export interface Callbacks {
  /** The array that pages push onto. A page may assign another one: that receives the later events. */
  list: Callback[];
  /** `to`: default: all. */
  emit(event: EventType, identity: Identity | null, to?: readonly Callback[]): void;
  addLegacy(callback: LegacyCallback): void;
  emitLegacy(status: LegacyStatus, token?: string): void;
}

/** `current` returns the current identity; undefined until `InitCompleted` has been emitted. */
export function createCallbacks(list: Callback[], current: () => Identity | null | undefined): Callbacks {
  const legacy = new Set<LegacyCallback>();
  const send = (to: readonly Callback[], event: EventType, payload: CallbackPayload) => {
    // A copy, because a callback that is pushed meanwhile receives the event when it is pushed.
    for (const callback of [...to]) run(() => callback(event, payload));
  };
  const push = (...more: Callback[]) => {
    // What they have missed. As in the UID2 SDK, only the event at load has an identity.
    send(more, 'SdkLoaded', {});
    const identity = current();
    if (identity !== undefined) send(more, 'InitCompleted', { identity });
    return [].push.apply(list, more as never);
  };
  // Not an assignment, which fails if `Array.prototype` is frozen.
  Object.defineProperty(list, 'push', { value: push, writable: true });
  const callbacks: Callbacks = {
    list,
    emit: (event, identity, to = callbacks.list) => send(to, event, { identity }),
    addLegacy: (callback) => void legacy.add(callback),
    emitLegacy: (name, token) => {
      const [status, statusText] = LEGACY[name];
      const payload = { advertisingToken: token, advertising_token: token, status, statusText };
      // A copy, because a callback may call `init` with another one.
      for (const callback of [...legacy]) run(() => callback(payload));
    },
  };
  return callbacks;
}
