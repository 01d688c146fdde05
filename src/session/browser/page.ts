/**
 * The clock, one timer, and the lifecycle of the page: shown, hidden, frozen, cached, back online.
 *
 * A hidden page has a timer only while a call of `getToken` is waiting; it wakes when it is shown. This file does not decide what
 * happens then.
 */

/** Longest run of the timer, ms, so that the session soon notices a changed clock or a device that slept. */
const MAX_SLEEP_MS = 60_000;

/** Lifecycle events of a page, and whether each wakes it: yes, no, only if it is visible, or only if it has stayed after `pagehide`. */
const LIFECYCLE = {
  pageshow: 'awake',
  resume: 'awake',
  online: 'if visible',
  visibilitychange: 'if visible',
  focus: 'if it stayed',
  pagehide: 'away',
  freeze: 'away',
} as const;

/**
 * Read a document property through the accessor of `Document.prototype`: an element with `name="visibilityState"` hides
 * `document.visibilityState`, and user content can contain such elements.
 *
 * @returns undefined if there is no document (workers, Node).
 */
export function readDocument(name: 'currentScript' | 'visibilityState'): unknown {
  return globalThis.document && Reflect.get(Document.prototype, name, document);
}

/**
 * Create the clock of a page, in epoch ms: the greater of the wall clock and the page's monotonic clock, so time never runs backwards.
 * The monotonic clock may stop while the device sleeps, so a forward jump of the wall clock is accepted.
 *
 * @param given  a clock supplied by the host, used as it is.
 */
export function createClock(given?: () => number) {
  /** The largest lead of the wall clock over the monotonic clock so far. */
  let leadMs = Number.NEGATIVE_INFINITY;
  const now = () => {
    leadMs = Math.max(leadMs, Date.now() - performance.now());
    return leadMs + performance.now();
  };
  return {
    now: given ?? now,
    /**
     * Follow the wall clock, even if it was set back: another page has written a set by its own clock, which cannot be compared with
     * one that is ahead of the wall clock.
     */
    follow: () => {
      leadMs = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Tell whether the page is visible; true if there is no document (workers, Node). */
export function isPageVisible(): boolean {
  return readDocument('visibilityState') !== 'hidden';
}

/** Callbacks of {@link watchPage}. */
export interface PageCallbacks {
  /** The timer has reached its instant, a minute has passed, or the page was hidden or focused, for example. */
  onCheck(): void;
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
export function watchPage(now: () => number, { onCheck, onWake, onLeave }: PageCallbacks) {
  let timer: ReturnType<typeof setTimeout> | undefined;

  const onEvent = ({ type, persisted }: Event & { readonly persisted?: boolean }) => {
    const becomes = LIFECYCLE[type as keyof typeof LIFECYCLE];
    // The first `pageshow` of a page, at the end of loading, wakes nothing: a reload must not shorten a pause.
    const isRestored = becomes === 'awake' && persisted !== false;
    if (becomes === 'away') onLeave();
    else if (isRestored || (becomes === 'if visible' && isPageVisible())) onWake();
    else onCheck();
  };
  // Listen on the window in the capture phase, through which events of the document pass too: but not those of a focused element.
  // Workers have no such events.
  for (const event in LIFECYCLE) globalThis.addEventListener?.(event, onEvent, event !== 'focus');

  return {
    /** Set the timer to `instant` (local epoch ms), replacing the previous one; `Infinity` means no timer. */
    setTimer(instant: number): void {
      clearTimeout(timer);
      const delayMs = instant - now();
      // False for NaN, which the host's clock may return.
      if (delayMs < Number.POSITIVE_INFINITY) timer = setTimeout(onCheck, Math.min(delayMs, MAX_SLEEP_MS));
    },
    close(): void {
      clearTimeout(timer);
      for (const event in LIFECYCLE) globalThis.removeEventListener?.(event, onEvent, event !== 'focus');
    },
  };
}
