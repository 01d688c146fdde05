/**
 * The transitions of a refresh: an attempt starts, fails, or gets a response. No I/O and no clock. All are pure, as in `record.ts`,
 * except the one that `refreshFailed` returns: its pause is random, so memory and store would differ if both applied it. Only the
 * store applies it, and memory adopts what was written.
 */

import type { TokenError } from '../../token/errors.ts';
import type { Answer, TokenSet } from '../../token/token-set.ts';
import { CLOCK_TOLERANCE_MS, isSameSet, optedOut, type SessionRecord, type Transition } from './record.ts';
import {
  attemptFailed,
  attemptStarted,
  type BackOff,
  currentRetry,
  isLeased,
  isUsedUp,
  nextAttempt,
  type StartOptions,
} from './retry.ts';

/** The result of a refresh: a newer set, an opt-out, or the end of the refresh token. */
export type RefreshResult = Answer | 'ended';

/** A set that is due within this time of its arrival, or within a twentieth of its life, counts as due on arrival. */
const DUE_ON_ARRIVAL_MS = 60_000;

/** The record whose set is to be sent, or the reason why none is. */
export type Claim =
  | (SessionRecord & { readonly set: TokenSet })
  /** Another tab's attempt is in progress. */
  | 'other_tab'
  /** The set has changed, or it is too early to send it again because another tab has failed with it. */
  | 'superseded';

/** How a refresh starts. */
export interface ClaimOptions extends StartOptions {
  /** When this page tries again after waking up, whatever the back-off, local epoch ms; 0 if it never slept. */
  readonly wakeAttemptAt: number;
}

/**
 * Claim the set of `before` for a refresh that starts at `now`. The attempt counts from now on, even if its tab is closed before
 * it ends.
 *
 * @returns the record to store, with the attempt in its retry state; or why nothing is sent.
 */
export function claimRefresh(record: SessionRecord, before: SessionRecord, options: ClaimOptions, now: number): Claim {
  const retry = currentRetry(record.retry, now);
  if (isLeased(retry, now, options.hasLock)) return 'other_tab';
  const next = nextAttempt(retry, options.wakeAttemptAt, options.isExplicit);
  const isTooEarly = (next && now < next.at) || (isUsedUp(retry) && !options.isExplicit);
  if (!record.set || record.ended || !isSameSet(record, before) || isTooEarly) return 'superseded';
  return { ...record, set: record.set, retry: attemptStarted(retry, now, options) };
}

/** The attempt that sent `sent` failed at `now`; see {@link attemptFailed}. Without an `error`, it was given up. */
export function refreshFailed(
  sent: SessionRecord,
  error: TokenError | undefined,
  backOff: BackOff,
  now: number,
  wakeAttemptAt: number,
): Transition {
  return (record) => {
    const { retry } = record;
    if (!retry || !isSameSet(record, sent) || !isSameAttempt(record, sent)) return record;
    const ended = error ? attemptFailed(retry, error, backOff, now, wakeAttemptAt) : { ...retry, isRunning: false };
    return { ...record, retry: ended };
  };
}

/**
 * The service has responded. The response applies only to the set and the generation that were sent.
 *
 * @param sent    the record when its refresh token was sent.
 * @param result  `ended`: the service rejected the refresh token permanently.
 * @param dateMs  the response's `Date` header, epoch ms, if the page may read it.
 */
export function refreshAnswered(
  sent: SessionRecord,
  result: RefreshResult,
  dateMs: number | undefined,
  now: number,
): Transition {
  return (record) => {
    if (!isSameSet(record, sent)) return record;
    const { retry, optedOut: isOptedOut, ended, ...rest } = record;
    // Keep the attempts and count them for the next set: a page may supply the rejected one again and again.
    const attempts = retry && { retry: { ...retry, isRunning: false } };
    if (result === 'optout') return { ...optedOut(now)(record), ...(isOptedOut && attempts) };
    if (result === 'ended') {
      // A set that was held back behind a tombstone is dropped.
      if (isOptedOut) return { ...rest, ...attempts, optedOut: isOptedOut, set: undefined };
      return ended ? record : { ...record, ...attempts, ended: true };
    }
    // The service accepts the user: the tombstone is lifted.
    const startedAt = (isSameAttempt(record, sent) ? retry : sent.retry)?.startedAt ?? now;
    const arrived = onArrival(result, startedAt, now, dateMs, record.offsetMs);
    // A set that has expired on arrival is due at once: keep counting attempts, or the service would be called endlessly.
    const isExpired = result.expiresAt <= now + arrived.offsetMs;
    return { ...rest, ...(isExpired && attempts), ...arrived, receivedAt: now };
  };
}

/** Tell whether the last attempt of `record` is the one that sent `sent`. A clock correction changes its `startedAt`. */
function isSameAttempt(record: SessionRecord, sent: SessionRecord): boolean {
  return record.retry?.attempts === sent.retry?.attempts;
}

/**
 * Derive the clock offset from a set that has just arrived; also returns the set, with `refreshAt` postponed if the set would be due
 * at once.
 *
 * The service read its clock between request (`startedAt`) and response (`now`). If `Date` lies outside that period, the offset is
 * taken at its end: it is better to return no token than an expired one.
 */
function onArrival(set: TokenSet, startedAt: number, now: number, dateMs: number | undefined, knownOffsetMs: number) {
  const { refreshAt, expiresAt } = set;
  let offsetMs = dateMs ? dateMs - startedAt : knownOffsetMs;
  const isClockRight = dateMs && dateMs > startedAt - CLOCK_TOLERANCE_MS && dateMs < now + CLOCK_TOLERANCE_MS;
  // A `Date` in the past may come from a cache. It is used only if the set also shows that this clock is ahead.
  const isStaleDate = dateMs && offsetMs < 0 && startedAt < refreshAt;
  if (isClockRight || isStaleDate) offsetMs = 0;
  // A set that was already due when it was requested shows that this device's clock is ahead, unless `Date` confirms the clock.
  // The set is valid for at least expiresAt - refreshAt, so take its arrival as refreshAt.
  const aheadMs = startedAt + offsetMs - refreshAt;
  if (aheadMs > 0 && !isClockRight) offsetMs -= aheadMs;
  // A set that is due, or nearly due, on arrival is refreshed halfway to its expiry.
  const isDue = aheadMs > -Math.min(DUE_ON_ARRIVAL_MS, (expiresAt - refreshAt) / 20);
  const dueAt = (Math.max(refreshAt, startedAt + offsetMs) + expiresAt) / 2;
  return { set: isDue && dueAt < expiresAt ? { ...set, refreshAt: dueAt } : set, offsetMs };
}
