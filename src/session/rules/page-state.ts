/**
 * What only this page knows, as one plain value, and the functions that change it: they return a new value, without I/O or clock.
 * All are pure except `wokeUp` and `attemptEnded`, which draw a random pause (`Math.random`). The session's `PageOwner`
 * (`page-owner.ts`) holds and replaces the value; everything that is stored belongs to `record.ts`.
 */

import { isDevelopment } from '../../token/development.ts';
import { TokenError } from '../../token/errors.ts';
import type { AttemptInProgress } from './attempt-plan.ts';
import { isSameSet, type SessionRecord } from './record.ts';
import { type BackOff, MAX_WAIT_MS, pauseMs, WAKE_SPREAD_MS } from './retry.ts';

/** Where the current token came from: the host, `provide`, a refresh on this page, another tab, or storage. */
export type Cause = 'set' | 'provide' | 'refresh' | 'tab' | 'load';

/** A page that was hidden for no longer than this has missed no message, ms. */
const SHORT_ABSENCE_MS = 2_000;

/** Message of the development build. */
const REFUSED_AFTER_OPT_OUT = 'The service has refused the set that was supplied after the opt-out.';

/** What listeners were last notified of. */
export interface Emitted {
  readonly token?: string | undefined;
  readonly optedOut?: boolean | undefined;
  readonly ended?: boolean | undefined;
  /** `needsTokens` has been emitted for the current need. */
  readonly need?: boolean | undefined;
}

/** What only this page knows. */
export interface PageState {
  /** Options that decide what a session may do. */
  readonly canProvide: boolean;
  readonly canRefresh: boolean;
  /** The user for whom this page was rendered, or who has signed in on it, hashed; see `user.ts`. */
  readonly user?: string | undefined;
  readonly consent: 'pending' | 'granted' | 'refused';
  readonly isClosed: boolean;
  /** The page is frozen, or in the back/forward cache. */
  readonly isAway: boolean;
  /** When the page was hidden, local epoch ms; 0 if it is visible and has woken up. */
  readonly hiddenAt: number;
  /** Calls of `getToken` that wait for a token. */
  readonly callers: number;
  /** Where the record is kept: `indexeddb`, `memory`, or the `kind` of the host's store. */
  readonly persistence: string;
  /**
   * The record matches the store: it was read after the page was last away, and contains every host call made before the read ended.
   */
  readonly isCurrent: boolean;
  /** The stored record has been read at least once. */
  readonly isKnown: boolean;
  /** Writes in progress: memory may be ahead of the store. */
  readonly writes: number;
  /** How often the page has lost track of the store. A read that began before the last time is ignored. */
  readonly absences: number;
  readonly attempt?: AttemptInProgress | undefined;
  /**
   * The state of `provide`. `nobody`: it is not called, because nobody is signed in (it said so, or the user has logged out) or
   * the service has rejected the set that was held back after an opt-out. `failed`: its last call failed.
   */
  readonly provideResult?: 'nobody' | 'failed' | undefined;
  /** How often in a row another tab has held the lock, without a message from it. */
  readonly lockRefusals: number;
  /** Another tab is refreshing; this page waits for its message until then, local epoch ms. */
  readonly otherTabUntil: number;
  /** Attempts of this page that have ended without a fresh set. */
  readonly fruitlessAttempts: number;
  /** This page starts no attempt before this instant, local epoch ms: for attempts that leave no trace in the record. */
  readonly notBefore: number;
  /** When this page tries again after waking up, whatever the back-off, local epoch ms; 0 if it never slept. */
  readonly wakeAttemptAt: number;
  /** Cause of the current set, for the next `token` event. */
  readonly cause: Cause;
  /** The last failure; absent once there is another set. */
  readonly lastError?: TokenError | undefined;
  /** An `error` event was emitted since there was a new set: later outages are not emitted. */
  readonly isErrorEmitted: boolean;
  readonly emitted: Emitted;
}

/** The state of a page whose session has just been created. */
export function initialPage(canProvide: boolean, canRefresh: boolean, persistence: string): PageState {
  return {
    canProvide,
    canRefresh,
    consent: 'pending',
    isClosed: false,
    isAway: false,
    hiddenAt: 0,
    callers: 0,
    persistence,
    isCurrent: false,
    isKnown: false,
    writes: 0,
    absences: 0,
    lockRefusals: 0,
    otherTabUntil: 0,
    fruitlessAttempts: 0,
    notBefore: 0,
    wakeAttemptAt: 0,
    cause: 'load',
    isErrorEmitted: false,
    emitted: {},
  };
}

/** Tell whether the session may use store and network: consent is given, the session is not closed, and the page is not away. */
export function isActive({ consent, isClosed, isAway }: PageState): boolean {
  return consent === 'granted' && !isClosed && !isAway;
}

/** Tell whether the record may be announced and acted upon: it is known, nothing is being written, consent is given. */
export function isSettled(page: PageState): boolean {
  return isActive(page) && page.isCurrent && page.writes === 0;
}

/** The record in memory changes from `before` to `after`: another set satisfies the need and ends the series of failures. */
export function recordAdopted(page: PageState, before: SessionRecord, after: SessionRecord, cause: Cause): PageState {
  if (isSameSet(before, after)) return page;
  // The first read finds an existing state; each later read, and each call of the host, is a change.
  if (!page.isKnown && cause !== 'set') return { ...page, cause };
  // Do not emit `needsTokens` twice for one user: a listener that signs the user in each time would be called endlessly.
  const isStillMissing = !before.set && !after.set && before.user === after.user;
  const emitted = { ...page.emitted, need: isStillMissing && page.emitted.need };
  const next = { ...page, cause, isErrorEmitted: false, lastError: undefined, provideResult: undefined, emitted };
  if (after.set) return next;
  // The service has rejected the set that was held back behind a tombstone: only the page can supply another. If another tab sent
  // it, the generation is unchanged; a logout there would have incremented it.
  const isRefused = cause === 'refresh' || after.generation === before.generation;
  if (after.optedOut && before.set && before.optedOut && isRefused) {
    const lastError = new TokenError('opted_out', isDevelopment ? REFUSED_AFTER_OPT_OUT : undefined);
    return { ...next, provideResult: 'nobody', lastError };
  }
  // The service reports an opt-out. Another user may be signed in, whose set `provide` can return.
  if (after.optedOut && !before.optedOut && cause !== 'provide') return next;
  // After a logout neither `provide` nor the page is asked for a set, because the page itself has logged the user out, unless it has
  // since named the user who signed in.
  if (after.clearedAt !== undefined && !after.user)
    return { ...next, provideResult: 'nobody', emitted: { ...emitted, need: true } };
  return next;
}

/** How an attempt ended, as far as it affects when this page tries again. */
export type AttemptEnd =
  /** It ended without a failure; the record shows whether the set has changed. */
  | 'done'
  /** It failed, and the record says how long to wait. */
  | 'failed'
  /** It failed, and left no trace in the record. */
  | 'failed_unrecorded'
  /** Another tab is refreshing. */
  | 'other_tab';

/** How long a page waits after an attempt. */
export interface Pauses extends BackOff {
  /** Wait for the message of another tab that is refreshing, ms. */
  readonly otherTabMs: number;
  /** Minimum wait, which the server has asked for with `Retry-After`, ms. */
  readonly retryAfterMs?: number | undefined;
}

/** The attempt in progress has ended at `now`. */
export function attemptEnded(page: PageState, end: AttemptEnd, now: number, pauses: Pauses): PageState {
  const idle = { ...page, attempt: undefined };
  if (end === 'other_tab') {
    // An explicit attempt during the wait for another tab changes nothing: only a full wait is counted.
    if (page.otherTabUntil > now) return idle;
    return { ...idle, lockRefusals: page.lockRefusals + 1, otherTabUntil: now + pauses.otherTabMs };
  }
  // Without a failure, the first three attempts follow at once, because each may only have found out what is stored.
  const waits = end === 'failed_unrecorded' || (end === 'done' && page.fruitlessAttempts > 2);
  const fruitlessAttempts = page.fruitlessAttempts + 1;
  const ownMs = pauseMs(pauses, page.fruitlessAttempts, fruitlessAttempts);
  const askedMs = Math.min(pauses.retryAfterMs ?? 0, MAX_WAIT_MS);
  const notBefore = waits ? now + Math.max(ownMs, askedMs) : 0;
  return { ...idle, fruitlessAttempts, notBefore, lockRefusals: 0, otherTabUntil: 0 };
}

/**
 * The page has read the record again at `now` and no longer waits for the other tab. `attemptEnded` counted the refusal in advance: a
 * wait that ended early does not count, and a message from the other tab resets the count.
 */
export function waitEnded(page: PageState, isChanged: boolean, now: number): PageState {
  const refusals = page.otherTabUntil > now ? page.lockRefusals - 1 : page.lockRefusals;
  return { ...page, otherTabUntil: 0, lockRefusals: isChanged ? 0 : refusals };
}

/** The page is shown, restored, thawed or online again at `now`: it tries again soon, at random. */
export function wokeUp(page: PageState, now: number): PageState {
  const wakeAttemptAt = now + Math.random() * WAKE_SPREAD_MS;
  // The back-off of a failing `provide` is not shortened.
  const notBefore = page.provideResult === 'failed' ? page.notBefore : Math.min(page.notBefore, wakeAttemptAt);
  // The clock may have been set back meanwhile.
  const wasAway = page.hiddenAt > 0 && Math.abs(now - page.hiddenAt) > SHORT_ABSENCE_MS;
  const awake = { ...page, isAway: false, hiddenAt: 0, wakeAttemptAt, notBefore };
  // A browser may suspend a hidden page without an event, and the page then misses messages.
  return wasAway ? storeOutdated(awake) : awake;
}

/** Correct the instants that this page measured by the device's clock, which was set back by `backMs`. */
export function pageClockSetBack(page: PageState, backMs: number): PageState {
  const { hiddenAt, otherTabUntil, notBefore, wakeAttemptAt, attempt } = page;
  // 0 means that there is no such instant.
  const back = (instant: number) => Math.max(0, instant - backMs);
  return {
    ...page,
    hiddenAt: back(hiddenAt),
    otherTabUntil: back(otherTabUntil),
    notBefore: back(notBefore),
    wakeAttemptAt: back(wakeAttemptAt),
    attempt: attempt && { ...attempt, startedAt: back(attempt.startedAt) },
  };
}

/** The stored record may have changed without a message. */
export function storeOutdated(page: PageState): PageState {
  return { ...page, isCurrent: false, absences: page.absences + 1 };
}

/** The page is hidden at `now`. */
export function wasHidden(page: PageState, now: number): PageState {
  return { ...page, hiddenAt: page.hiddenAt || now };
}

/** The page is about to be frozen, cached or unloaded: nothing is known until it has read the store again. */
export function wentAway(page: PageState): PageState {
  return { ...storeOutdated(page), isAway: true };
}
