/** The page's functions that receive events: `callbacks`, and the deprecated ones of `init`. One that throws does not stop the others. */

import { LEGACY, type LegacyStatus } from './status.ts';
import type { Callback, CallbackPayload, EventType, Identity, LegacyCallback } from './types.ts';

export function run(work: () => unknown): void {
  // Without `reportError` (Chrome 94) the rejection itself appears in the console.
  (async () => work())().catch(globalThis.reportError);
}

export interface Callbacks {
  /** A page may assign another array: that receives the later events. */
  list: Callback[];
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
    // As in the UID2 SDK, `SdkLoaded` has an identity only at load.
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
