/**
 * What all session tests share: the fake clock, `until`, and the recorder of events.
 *
 * Timers, `Date` and `performance` are fake. Web Crypto, promises and IndexedDB are real, so a test waits for their result, never
 * for a span of real time.
 */

import { vi } from 'vitest';
import type { Session } from '../../src/session/index.ts';

/** Captured before a test replaces the timers. */
const macrotask = setImmediate;
const realNow = performance.now.bind(performance);
const turn = () => new Promise<void>((resolve) => macrotask(() => resolve()));

export const START = Date.UTC(2030, 0, 15, 12);
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Web Crypto operations in progress. They run on real threads, so the fake clock cannot tell when they end. */
let cryptoPending = 0;
for (const name of ['importKey', 'encrypt', 'decrypt'] as const) {
  const real = crypto.subtle[name].bind(crypto.subtle) as (...given: unknown[]) => Promise<unknown>;
  const counted = (...given: unknown[]) => {
    cryptoPending++;
    return real(...given).finally(() => cryptoPending--);
  };
  Object.defineProperty(crypto.subtle, name, { value: counted, configurable: true, writable: true });
}

/** Replace the timers and the clock with fake ones, set to {@link START}. */
export const useFakeClock = () =>
  vi.useFakeTimers({
    now: START,
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
  });

/**
 * Minimum wait of {@link until}, ms of real time: thousands of turns may pass before a Web Crypto thread runs.
 */
const MIN_WAIT_MS = 20_000;

/** Wait, in real turns of the event loop, until `condition` returns a truthy value. Meanwhile, the fake clock stands still. */
export const until = async (condition: () => unknown, what = condition.toString()): Promise<void> => {
  const startedAt = realNow();
  for (let turns = 0; !condition(); turns++) {
    if (turns > 20_000 && realNow() - startedAt > MIN_WAIT_MS) throw new Error(`never became true: ${what}`);
    await turn();
  }
};

/** Wait until the session of a page has read its store. */
export const loaded = async <Page extends { readonly session: Session }>(page: Page): Promise<Page> => {
  await page.session.ready;
  return page;
};

/** The events that a session emitted, in order, each with the part of its payload that distinguishes it. */
export type EventLog = [event: string, detail?: unknown][];

export const recordEvents = (session: Session): EventLog => {
  const events: EventLog = [];
  session.on('token', ({ cause, advertisingToken }) => events.push(['token', cause, advertisingToken] as never));
  session.on('expired', ({ token }) => events.push(['expired', token]));
  session.on('optout', () => events.push(['optout']));
  session.on('needsTokens', ({ reason }) => events.push(['needsTokens', reason]));
  session.on('error', ({ code, status }) => events.push(['error', status ? `${code} ${status}` : code]));
  return events;
};

/** Format the recorded events as strings: `event` or `event detail`. */
export const names = (events: EventLog): string[] =>
  events.map(([event, detail]) => (detail ? `${event} ${detail}` : event));

/**
 * Wait for what is in progress, and advance the fake clock.
 *
 * @param pending  the number of requests in progress.
 */
export const createSteps = (pending: () => number = () => 0) => {
  /** Wait until no request and no Web Crypto operation has been in progress for 40 turns of the event loop. */
  const settle = async (): Promise<void> => {
    for (let quiet = 0; quiet < 40; quiet++) {
      await turn();
      if (pending() || cryptoPending) quiet = 0;
    }
  };
  /** Advance the fake clock by `ms`, from one timer to the next. After each timer, wait until everything has settled. */
  const advance = async (ms: number): Promise<void> => {
    const end = Date.now() + ms;
    for (;;) {
      await settle();
      const left = end - Date.now();
      if (left <= 0) break;
      // A timer of our own, so that the next one is never later than the end.
      const last = setTimeout(() => {}, Math.min(left, 2 ** 31 - 1));
      await vi.advanceTimersToNextTimerAsync();
      clearTimeout(last);
    }
    // The other timers that are due at the end.
    if (ms <= 0) return;
    await vi.advanceTimersByTimeAsync(0);
    await settle();
  };
  return { settle, advance };
};
