/**
 * One timer, and the lifecycle of the page: shown, hidden, frozen, cached, back online.
 *
 * A hidden page has a timer only while a call of `getToken` waits; it is woken when it is shown. This file does not decide what to do
 * then.
 */

import { readDocument } from '../read-document.ts';

/** The timer runs at most this long, so that a clock that was set, or a device that slept, is noticed, ms. */
const MAX_SLEEP_MS = 60_000;

/** Events of a page's lifecycle, and whether the page is awake after them: yes, no, or if it is visible. */
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

/** What a page is watched for. */
export interface PageCallbacks {
  /** The instant of the timer has come, a minute has passed, or the page is hidden. */
  onTimer(): void;
  /** The page is shown, restored, thawed or back online. */
  onWake(): void;
  /** The page is about to be frozen, cached or unloaded. */
  onLeave(): void;
}

/**
 * Watch the page, and keep its timer.
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
  // In the capture phase at the window, which events of the document pass too. Workers have no such events.
  for (const event in LIFECYCLE) globalThis.addEventListener?.(event, onEvent, true);

  return {
    /**
     * Set the timer to `instant` (local epoch ms) in place of the one before; `Infinity`: no timer.
     *
     * @param isNeeded  false: note the instant for `checkTimer` alone.
     */
    setTimer(instant: number, isNeeded: boolean): void {
      wakeAt = instant;
      clearTimeout(timer);
      if (isNeeded && wakeAt < Number.POSITIVE_INFINITY)
        timer = setTimeout(onTimer, Math.min(wakeAt - now(), MAX_SLEEP_MS));
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
