/**
 * When the service may be asked again after a failure: back-off after outages, few and widely spaced attempts after
 * refusals, and a budget for all attempts with one set.
 *
 * No I/O and no clock. Not quite pure: `pauseMs` and `attemptFailed` draw jitter from `Math.random`; all other functions are
 * pure. The retry state is part of the stored record, so all tabs share one back-off and one budget.
 *
 * To add a reason to wait that all tabs share:
 *
 * 1. Add a span to `RetryState`. `attemptStarted` sets it to 0, `attemptFailed` to its value, which comes from the error
 *    (`TokenErrorDetails`, filled in `refresh-request.ts`), and `parseRetry` checks it, also against two days. A state stored earlier
 *    lacks the span, which must then read as 0.
 * 2. Add its name to `WaitReason`, the comparison to `nextAttempt`, and its explanation to `NextReason` in `public-state.ts`.
 * 3. TypeScript then requires its text in the inspector. Add a row to the table in docs/session.md.
 *
 * A reason that concerns only this page is a pause in `PageState` (a value in `initialPage`, moved by `pageClockSetBack`) and a case of
 * `waitOf` in `decide.ts`; `isSoon` there decides whether callers of `getToken` wait for it. For it, steps 2 and 3 need only
 * `NextReason`.
 */

import type { TokenError } from '../../token/errors.ts';

/** The refresh attempts, over all tabs, that brought no newer set, or one that had expired on arrival. */
export interface RetryState {
  /** Attempts so far, including those whose tab was closed before the answer. */
  readonly attempts: number;
  /** Failures that lengthen the back-off: network errors, time-outs, 408, 425, 429 and 5xx. */
  readonly outages: number;
  /** How often the service has refused the set, or has sent an answer that cannot be opened. */
  readonly refusals: number;
  /** When the last attempt began, local epoch ms. */
  readonly startedAt: number;
  /** True from the start of an attempt to its end: the lease of the tab that makes it. */
  readonly isRunning: boolean;
  /** The attempt holds the Web Lock, so a tab that obtains the lock knows that it is over. */
  readonly isLocked: boolean;
  /** How long the attempt may run, ms: the time limit of its tab. */
  readonly leaseMs: number;
  /** How long to wait after `startedAt`, ms. An explicit `refresh()` does not wait for this. */
  readonly waitMs: number;
  /** How long every attempt waits after `startedAt`, ms, because the service sent `Retry-After`. */
  readonly retryAfterMs: number;
}

/** Back-off after an outage: the span doubles from `firstMs` to `maxMs`. */
export interface BackOff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** Why an attempt waits. */
export type WaitReason = 'back_off' | 'budget' | 'refused' | 'retry_after' | 'woken';

/** When the next attempt may start (local epoch ms), and what sets that instant. */
export interface NextAttempt {
  readonly at: number;
  readonly reason: WaitReason;
}

/** Spacing of attempts after a refusal, ms. After the last of them a new set is needed. */
const REFUSAL_SPACING_MS = [30_000, 120_000, 600_000];

/**
 * Retry state older than this is void, and so is one from the future, which shows that a clock was set. No pause is longer, ms.
 */
export const MAX_WAIT_MS = 86_400_000;

/** A page that wakes up tries again within this time, at random: all pages of a device wake up at once. */
export const WAKE_SPREAD_MS = 2_000;

/** A device that wakes up needs this long to reconnect, ms. Failures before that say nothing about the service. */
const WAKE_NETWORK_MS = 30_000;
/** During that time, at most this many earlier outages count towards the back-off. */
const WAKE_OUTAGES = 2;

/**
 * The minimum time between the last attempt and the next one, ms; nothing shortens it. The first five attempts follow the
 * back-off alone, those up to the fifteenth are at least 180 s apart, and all later ones 125 s: at most 15 attempts in any 30
 * minutes.
 */
function minSpacingMs(attempts: number): number {
  if (attempts < 5) return 0;
  return attempts < 15 ? 180_000 : 125_000;
}

/** Statuses below 500 of a service that is overloaded: the same request may succeed later. */
const TEMPORARY = [408, 425, 429];

/** Tell whether the service has refused the set, or has sent an unusable answer: such a failure does not go away with time. */
export function isRefusal({ status = 500 }: TokenError): boolean {
  return status < 500 && !TEMPORARY.includes(status);
}

/**
 * Draw the pause after an outage, ms, at most a day: back-off with full jitter, and from the fifth attempt on the spacing of the
 * budget with up to 12.5 % jitter, so that pages do not retry in the same instant.
 *
 * @param outages   earlier outages, for the back-off.
 * @param attempts  all attempts so far, for the budget.
 */
export function pauseMs({ firstMs, maxMs }: BackOff, outages: number, attempts: number): number {
  const backOffMs = Math.random() * Math.min(maxMs, firstMs * 2 ** outages, MAX_WAIT_MS);
  return Math.max(backOffMs, minSpacingMs(attempts) * (1 + Math.random() / 8));
}

/** The retry state, if it still counts at `now` (local epoch ms). */
export function currentRetry(retry: RetryState | undefined, now: number): RetryState | undefined {
  return retry && now >= retry.startedAt && now < retry.startedAt + MAX_WAIT_MS ? retry : undefined;
}

/** Tell whether the service has refused the set so often that a new one is needed. */
export function isUsedUp(retry: RetryState | undefined): boolean {
  return !!retry && retry.refusals > REFUSAL_SPACING_MS.length;
}

/**
 * Tell whether another tab holds the lease at `now`: its attempt has not ended, and is within its time limit.
 *
 * @param hasLock  this tab holds the Web Lock, so an attempt that held the lock is over and its tab is gone.
 */
export function isLeased(retry: RetryState | undefined, now: number, hasLock: boolean): boolean {
  if (!retry?.isRunning || (hasLock && retry.isLocked)) return false;
  return now < retry.startedAt + retry.leaseMs;
}

/**
 * When the set may be sent again.
 *
 * @param wakeAttemptAt  when a page that woke up tries a set that no tab has tried since.
 * @param isExplicit     the page called `refresh()`: only the budget and `Retry-After` delay it.
 * @returns undefined if nothing delays it.
 */
export function nextAttempt(
  retry: RetryState | undefined,
  wakeAttemptAt: number,
  isExplicit = false,
): NextAttempt | undefined {
  if (!retry) return undefined;
  const { startedAt, refusals } = retry;
  const budgetAt = startedAt + minSpacingMs(retry.attempts);
  const retryAfterAt = startedAt + retry.retryAfterMs;
  const forced: NextAttempt =
    retryAfterAt > budgetAt ? { at: retryAfterAt, reason: 'retry_after' } : { at: budgetAt, reason: 'budget' };
  const waitAt = startedAt + retry.waitMs;
  const triedSinceWake = startedAt > wakeAttemptAt - WAKE_SPREAD_MS;
  let own: NextAttempt = { at: waitAt, reason: refusals ? 'refused' : 'back_off' };
  if (!refusals && !triedSinceWake && wakeAttemptAt < waitAt) own = { at: wakeAttemptAt, reason: 'woken' };
  return isExplicit || forced.at > own.at ? forced : own;
}

/** How an attempt starts. */
export interface StartOptions {
  /** This tab holds the Web Lock. */
  readonly hasLock: boolean;
  /** The page called `refresh()`: earlier refusals no longer count. */
  readonly isExplicit: boolean;
  /** How long it may run, ms. */
  readonly leaseMs: number;
}

/** An attempt starts at `now`. */
export function attemptStarted(
  retry: RetryState | undefined,
  now: number,
  { hasLock, isExplicit, leaseMs }: StartOptions,
): RetryState {
  return {
    attempts: (retry?.attempts ?? 0) + 1,
    outages: retry?.outages ?? 0,
    refusals: isExplicit ? 0 : (retry?.refusals ?? 0),
    startedAt: now,
    isRunning: true,
    isLocked: hasLock,
    // A longer one, for example from a `timeoutMs` of 1e16, would be rejected by `parseRetry`.
    leaseMs: Math.min(leaseMs, MAX_WAIT_MS),
    waitMs: 0,
    retryAfterMs: 0,
  };
}

/**
 * The attempt failed at `now`.
 *
 * @param wakeAttemptAt  when this page was to try again after waking up; 0 if it never slept.
 */
export function attemptFailed(
  retry: RetryState,
  error: TokenError,
  backOff: BackOff,
  now: number,
  wakeAttemptAt: number,
): RetryState {
  // Another tab's clock may have been set back.
  const elapsedMs = Math.max(0, now - retry.startedAt);
  const retryAfterMs = error.retryAfterMs ? elapsedMs + Math.min(error.retryAfterMs, MAX_WAIT_MS) : 0;
  const ended = { ...retry, isRunning: false, retryAfterMs };
  if (isRefusal(error)) {
    const spacingMs = REFUSAL_SPACING_MS[retry.refusals] ?? 0;
    return { ...ended, refusals: retry.refusals + 1, waitMs: elapsedMs + spacingMs };
  }
  const isWaking = now < wakeAttemptAt + WAKE_NETWORK_MS;
  const outages = isWaking ? Math.min(retry.outages, WAKE_OUTAGES) : retry.outages;
  return { ...ended, outages: outages + 1, waitMs: elapsedMs + pauseMs(backOff, outages, retry.attempts) };
}

/** The lease of a record of an earlier version, ms. */
const EARLIER_LEASE_MS = 12_000;

/** Tell whether a stored value may be a count, a span (ms) or an instant (epoch ms): a number from 0 to beyond the year 9999. */
export function isPlausible(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < 1e15;
}

/** Check the fields of a stored retry state; an implausible one reads as none. */
export function parseRetry(stored: unknown): RetryState | undefined {
  if (typeof stored !== 'object' || stored === null) return undefined;
  const {
    attempts,
    outages,
    refusals,
    startedAt,
    isRunning,
    isLocked,
    leaseMs = EARLIER_LEASE_MS,
    waitMs,
    retryAfterMs,
  } = stored as RetryState;
  const numbers = { attempts, outages, refusals, startedAt, leaseMs, waitMs, retryAfterMs };
  if (!Object.values(numbers).every(isPlausible) || typeof isRunning !== 'boolean') return undefined;
  // Each is at most a day after the failure, which comes less than a day after the start.
  if (Math.max(waitMs, retryAfterMs) > 2 * MAX_WAIT_MS) return undefined;
  return { ...numbers, isRunning, isLocked: isLocked === true };
}
