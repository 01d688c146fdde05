/**
 * When to look again: one timer aimed at an instant, and the page's own wake-up calls.
 *
 * A hidden page has no timer; it is called when it is seen again. It does not know what happens at the instant.
 */

/** Longest sleep of the timer, ms: a clock that was set, or a device that slept, is noticed after a minute. */
const LONGEST_SLEEP_MS = 60_000;

/** Whether the page is seen; true where there is no document (workers, Node). */
export function isVisible(): boolean {
  return globalThis.document?.visibilityState !== 'hidden';
}

/**
 * Aim at instants, one at a time.
 *
 * @param now      local clock, epoch ms.
 * @param onTime   called when the instant has come, and each minute until then: it looks at the clock, and aims anew.
 * @param onWake   called when the page is shown, restored or back online.
 * @param onLeave  called when the page is about to be frozen, kept in the back/forward cache, or gone.
 */
export function createSchedule(now: () => number, onTime: () => void, onWake: () => void, onLeave: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let target = Number.POSITIVE_INFINITY;

  const arm = () => {
    clearTimeout(timer);
    if (target < Number.POSITIVE_INFINITY && isVisible())
      timer = setTimeout(onTime, Math.min(target - now(), LONGEST_SLEEP_MS));
  };
  /** What may happen to a page, and whether it is awake then: yes, no, or where it is seen. */
  const events = { pageshow: 1, resume: 1, online: 0, visibilitychange: 0, pagehide: -1, freeze: -1 };
  const look = ({ type }: Event) => {
    const awake = events[type as keyof typeof events];
    if (awake < 0) onLeave();
    if (awake > 0 || (!awake && isVisible())) onWake();
    else clearTimeout(timer);
  };

  const listen = (verb: 'add' | 'remove') => {
    // Captured at the window, where events of the document pass too.
    for (const event in events) globalThis[`${verb}EventListener`]?.(event, look, true);
  };
  listen('add');

  return {
    /** Aim at `instant` (local epoch ms) instead of whatever was aimed at; `Infinity`: at nothing. */
    at: (instant: number) => {
      target = instant;
      arm();
    },
    /** Somebody looks at the time: see whether the timer should have. It may be throttled, frozen or gone. */
    poke: () => {
      if (target <= now()) queueMicrotask(onTime);
    },
    close: () => {
      clearTimeout(timer);
      listen('remove');
    },
  };
}
