/** Event targets of a simulated page, without a DOM: capture, `once`, abort signals, isolated errors of listeners. */

type Listener = (event: PageEvent) => unknown;

/** The event that a listener receives. */
export interface PageEvent {
  readonly type: string;
  readonly target: unknown;
  readonly persisted: boolean;
  readonly data?: unknown;
  readonly isTrusted: true;
  preventDefault(): void;
  stopPropagation(): void;
}

interface Entry {
  readonly type: string;
  readonly listener: Listener | { handleEvent: Listener };
  readonly capture: boolean;
  readonly once: boolean;
}

export const eventOf = (type: string, target: unknown, more: object = {}): PageEvent => ({
  type,
  target,
  persisted: false,
  isTrusted: true,
  preventDefault: () => {},
  stopPropagation: () => {},
  ...more,
});

/**
 * Create an event target.
 *
 * @param onThrow  called with what a listener threw.
 */
export const createTarget = (onThrow: (error: unknown) => void) => {
  const entries: Entry[] = [];
  const captureOf = (options: unknown) => options === true || !!(options as { capture?: boolean } | undefined)?.capture;
  const remove = (type: string, listener: unknown, options?: unknown) => {
    const at = entries.findIndex(
      (entry) => entry.type === type && entry.listener === listener && entry.capture === captureOf(options),
    );
    if (at >= 0) entries.splice(at, 1);
  };
  return {
    addEventListener: (type: string, listener: Entry['listener'], options?: unknown): void => {
      const { once = false, signal } = Object(options) as { once?: boolean; signal?: AbortSignal };
      if (signal?.aborted) return;
      const capture = captureOf(options);
      remove(type, listener, capture);
      entries.push({ type, listener, capture, once });
      signal?.addEventListener('abort', () => remove(type, listener, capture));
    },
    removeEventListener: remove,
    /** Call the listeners of an event; if `capture` is given, only those registered with that value. */
    fire: (event: PageEvent, capture?: boolean): void => {
      for (const entry of [...entries]) {
        if (entry.type !== event.type || (capture !== undefined && entry.capture !== capture)) continue;
        if (!entries.includes(entry)) continue;
        if (entry.once) entries.splice(entries.indexOf(entry), 1);
        try {
          const { listener } = entry;
          if (typeof listener === 'function') listener(event);
          else listener.handleEvent(event);
        } catch (error) {
          onThrow(error);
        }
      }
    },
    /** The number of listeners. */
    count: () => entries.length,
  };
};
