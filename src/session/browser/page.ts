/**
 * One timer, and the lifecycle of the page: shown, hidden, frozen, cached, back online.
 *
 * A hidden page has a timer only while a call of `getToken` is waiting; it wakes when it is shown. This file does not decide what
 * happens then.
 */

import { readDocument } from '../read-document.ts';

/** Longest run of the timer, ms, so that the session soon notices a changed clock or a device that slept. */
const MAX_SLEEP_MS = 60_000;

/** Lifecycle events of a page, and whether the page is awake after each: yes, no, or only if it is visible. */
const LIFECYCLE = {
  pageshow: 'awake',
  resume: 'awake',
  online: 'if visible',
  visibilitychange: 'if visible',
  pagehide: 'away',
  freeze: 'away',
} as const;

/** Tell whether the page is visible; true if there is no document (workers, Node). */
export function isPageVisible(): boolean {
  return readDocument('visibilityState') !== 'hidden';
}

/** Callbacks of {@link watchPage}. */
export interface PageCallbacks {
  /** The timer has reached its instant, a minute has passed, or the page has been hidden. */
  onTimer(): void;
  /** The page is shown, restored, thawed or back online. */
  onWake(): void;
  /** The page is about to be frozen, cached or unloaded. */
  onLeave(): void;
}

/**
 * Watch the lifecycle of the page, and run its timer.
 *
 * @param now  local clock, epoch ms.
 */
export function watchPage(now: () => number, { onTimer, onWake, onLeave }: PageCallbacks) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let wakeAt = Number.POSITIVE_INFINITY;

  const onEvent = ({ type, persisted }: Event & { readonly persisted?: boolean }) => {
    const becomes = LIFECYCLE[type as keyof typeof LIFECYCLE];
    if (becomes === 'away') onLeave();
    // The first `pageshow` of a page, at the end of loading, wakes nothing: a reload must not shorten the back-off.
    const isRestored = becomes === 'awake' && persisted !== false;
    if (isRestored || (becomes === 'if visible' && isPageVisible())) onWake();
    else if (!isPageVisible()) onTimer();
  };
  // Listen on the window in the capture phase, through which events of the document pass too. Workers have no such events.
  for (const event in LIFECYCLE) globalThis.addEventListener?.(event, onEvent, true);

  return {
    /**
     * Set the timer to `instant` (local epoch ms), replacing the previous one; `Infinity` means no timer.
     *
     * @param isNeeded  false to record the instant only for `checkTimer`.
     */
    setTimer(instant: number, isNeeded: boolean): void {
      wakeAt = instant;
      clearTimeout(timer);
      const delayMs = wakeAt - now();
      // False for NaN, which the host's clock may return.
      if (isNeeded && delayMs < Number.POSITIVE_INFINITY) timer = setTimeout(onTimer, Math.min(delayMs, MAX_SLEEP_MS));
    },
    /** Call `onTimer` soon if the timer is late: it may be throttled, frozen or off. */
    checkTimer(): void {
      if (wakeAt <= now()) queueMicrotask(onTimer);
    },
    close(): void {
      clearTimeout(timer);
      for (const event in LIFECYCLE) globalThis.removeEventListener?.(event, onEvent, true);
    },
  };
}
