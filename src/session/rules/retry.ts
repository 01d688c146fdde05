/**
 * The changes that an attempt makes, a refresh or a call of `provide`: it takes the lease, fails, gets an answer, ends. And when the
 * next one may start.
 *
 * The lease and the retry state are part of the record, so all tabs share them. Random numbers are drawn before a change, so every
 * change is pure.
 */

import type { TokenError } from '../../token/errors.ts';
import { phaseOf } from '../../token/phase.ts';
import type { Answer, TokenSet } from '../../token/token-set.ts';
import type { Plan } from './page.ts';
import {
  type Change,
  CLOCK_TOLERANCE_MS,
  isSameSet,
  type Lease,
  optedOut,
  type RetryState,
  type SessionRecord,
  setByHost,
} from './record.ts';

/** The pause after a failure: it doubles from `firstMs` to `maxMs`. */
export interface BackOff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/** No instant. */
export const NEVER = Number.POSITIVE_INFINITY;

/** No pause and no lease is longer, and no retry state older, ms. */
export const DAY_MS = 86_400_000;

/** Pauses after a refusal, ms. After the last of them a new set is needed. */
const REFUSAL_SPACING_MS = [30_000, 120_000, 600_000];

/** So many attempts in a row without a valid set may be followed at once by another, unless the last one failed. */
const FREE_ATTEMPTS = 3;

/** A set that is due within this time of its arrival, or within a twentieth of its life, counts as due on arrival. */
const DUE_ON_ARRIVAL_MS = 60_000;

/** Statuses below 500 of a service that is overloaded: the same request may succeed later. */
const TEMPORARY = [408, 425, 429];

/**
 * Tell whether the service has refused the set, or has sent an unusable answer: such a failure does not go away with time. An error
 * without a status had no answer.
 */
export function isRefusal({ kind }: Plan, { status = 500 }: TokenError): boolean {
  return kind === 'refresh' && status < 500 && !TEMPORARY.includes(status);
}

/** The retry state, if it still counts at `now`. */
export function currentRetry({ retry }: SessionRecord, now: number): RetryState | undefined {
  if (!retry || !(now < retry.countedAt + DAY_MS)) return undefined;
  // One from the future shows that the clock was set back: nobody knows how long to wait, but the attempts count.
  return isFuture(retry.countedAt, now) ? { ...retry, refusals: 0, waitUntil: 0 } : retry;
}

/**
 * Tell whether an instant that a page has written lies ahead: then the clock was set back since. Another tab may write one that is a
 * little later than `now` while a change waits for the store.
 */
function isFuture(at: number, now: number): boolean {
  return at > now + CLOCK_TOLERANCE_MS;
}

/** Tell whether the service has refused the set so often that a new one is needed. */
export function isUsedUp(retry: RetryState | undefined): boolean {
  return !!retry && retry.refusals > REFUSAL_SPACING_MS.length;
}

/** When a plan may start. */
export function startOf(plan: Plan, retry: RetryState | undefined): number {
  if (!retry) return 0;
  if (plan.isExplicit) return plan.kind === 'refresh' && retry.reason === 'retry_after' ? retry.waitUntil : 0;
  return plan.kind === 'refresh' && isUsedUp(retry) ? NEVER : retry.waitUntil;
}

/** The pause after a number of attempts in a row, ms. */
export type Pause = (attempts: number) => number;

/**
 * Draw the random part of a pause, so that pages do not try again in the same instant: it takes off up to a quarter. With the defaults,
 * the service gets at most 15 calls in any 30 minutes.
 */
export function drawPause({ firstMs, maxMs }: BackOff): Pause {
  const part = 1 - Math.random() / 4;
  return (attempts) => part * Math.min(maxMs, firstMs * 2 ** (attempts - 1), DAY_MS);
}

/** When a lease ends at the latest. */
export function leaseEnd({ at, ms }: Lease): number {
  return at + Math.min(ms, DAY_MS);
}

/** Tell whether a tab has the lease. `hasLock`: this tab has the Web Lock. */
export function isLeased({ lease }: SessionRecord, now: number, hasLock: boolean): boolean {
  if (!lease || (hasLock && lease.isLocked)) return false;
  return !isFuture(lease.at, now) && now < leaseEnd(lease);
}

/**
 * A tab takes the lease for an attempt with the set of `asked`. Nothing changes if another tab has the lease, if the set has changed or
 * ended, or if it is too early to send it again.
 */
export function attemptClaimed(asked: SessionRecord, plan: Plan, lease: Lease): Change {
  return (record) => {
    const now = lease.at;
    const isOver = !isSameSet(record, asked) || (plan.kind === 'refresh' && record.ended && !record.optedOut);
    // Not `now < startOf(...)`: the host's `now` may return NaN.
    const isDue = now >= startOf(plan, currentRetry(record, now));
    return isOver || !isDue || isLeased(record, now, lease.isLocked) ? record : { ...record, lease };
  };
}

/**
 * The attempt that took the lease of `sent` is over. Its outcome counts only if generation and tokens are still those that were
 * sent; a failure, only if no other tab has taken the lease meanwhile.
 */
export function attemptEnded(sent: SessionRecord, outcome: Change | undefined, isFailure: boolean): Change {
  return (record) => {
    const isTaken = !!record.lease && record.lease.id !== sent.lease?.id;
    const released = isTaken || !record.lease ? record : { ...record, lease: undefined };
    return outcome && isSameSet(record, sent) && !(isTaken && isFailure) ? outcome(released) : released;
  };
}

/**
 * Count an attempt that has ended at `now` without a valid set. One whose tab was left or closed before the answer is not counted: that
 * is not a failure of the service.
 */
function attemptCounted(record: SessionRecord, now: number): RetryState {
  const { attempts = 0, refusals = 0, hasWoken = false } = currentRetry(record, now) ?? {};
  return { attempts: attempts + 1, refusals, countedAt: now, waitUntil: 0, reason: 'back_off', hasWoken };
}

/** The attempt failed at `now`. */
export function attemptFailed(plan: Plan, error: TokenError, pause: Pause, now: number): Change {
  return (record) => {
    const retry = attemptCounted(record, now);
    const isRefused = isRefusal(plan, error);
    // The page called `refresh()`: earlier refusals no longer count.
    const earlier = plan.isExplicit ? 0 : retry.refusals;
    const ownMs = isRefused ? (REFUSAL_SPACING_MS[earlier] ?? 0) : pause(retry.attempts);
    const askedMs = Math.min(error.retryAfterMs ?? 0, DAY_MS);
    const reason = askedMs > ownMs ? 'retry_after' : isRefused ? 'refused' : 'back_off';
    const refusals = earlier + Number(isRefused);
    return { ...record, retry: { ...retry, refusals, waitUntil: now + Math.max(ownMs, askedMs), reason } };
  };
}

/** A page woke up or came online: the next attempt may start at `at`, unless the service asked for the pause or refused the set. */
export function wokeUp(at: number): Change {
  return (record) => {
    const { retry } = record;
    if (!retry || retry.hasWoken || retry.reason !== 'back_off' || retry.waitUntil <= at) return record;
    return { ...record, retry: { ...retry, waitUntil: at, reason: 'woken', hasWoken: true } };
  };
}

/** What an attempt has found. */
export interface Found {
  /** A set, an opt-out, or the end of the refresh token; undefined: `provide` says that nobody is signed in. */
  readonly result: Answer | 'ended' | undefined;
  /** The `Date` header of the service's response, epoch ms, if the page may read it. */
  readonly dateMs?: number | undefined;
}

/**
 * The service has answered the refresh of `sent`, or `provide` has answered, at `now`.
 *
 * @param user  the hashed label of the page. Default: the user for whom the record waits for a set.
 */
export function attemptAnswered(
  sent: SessionRecord,
  { kind }: Plan,
  { result, dateMs }: Found,
  user: string | undefined,
  pause: Pause,
  now: number,
): Change {
  return (record) => {
    const { attempts, ...counted } = attemptCounted(record, now);
    // Only many attempts in a row that do not fail, but bring no valid set either, cause a pause.
    const waitUntil = attempts > FREE_ATTEMPTS ? now + pause(attempts) : 0;
    const retry = { ...counted, attempts, refusals: 0, waitUntil };
    // Nobody is signed in. That the service keeps refusing the set still counts; without a set, counting starts again.
    if (!result)
      return record.set || !record.retry ? record : { ...record, retry: { ...retry, attempts: 0, waitUntil: 0 } };
    // A set that was held back behind a tombstone is refused: attempts with such sets count together.
    if (result === 'optout') return { ...optedOut(now)(record), retry: record.optedOut ? retry : undefined };
    if (result === 'ended' && record.optedOut) return { ...record, retry, set: undefined };
    // `provide` may be asked at once, even if the page called `refresh()` during a pause.
    if (result === 'ended') return { ...record, ended: true, retry: record.retry && { ...record.retry, waitUntil: 0 } };
    const isProvided = kind === 'provide';
    const after = isProvided
      ? setByHost(result, now, user ?? record.user)(record)
      : refreshed(record, result, sent.lease?.at ?? now, now, dateMs);
    // A set that is due or has expired on arrival: keep counting, or the service would be called endlessly. One of `provide` that is
    // due soon may be one that the service refuses.
    const at = now + after.offsetMs + (isProvided ? DUE_ON_ARRIVAL_MS : 0);
    return { ...after, retry: phaseOf(after, at) === 'fresh' ? undefined : retry };
  };
}

/**
 * The record with a set that the service has just sent. It derives the clock offset, and postpones `refreshAt` if the set would be
 * due at once.
 *
 * The service read its clock between request (`startedAt`) and response (`now`). If `Date` lies outside that period, the offset is
 * taken at its end: it is better to return no token than an expired one.
 */
function refreshed(
  record: SessionRecord,
  set: TokenSet,
  startedAt: number,
  now: number,
  dateMs: number | undefined,
): SessionRecord {
  const { refreshAt, expiresAt } = set;
  const givenMs = dateMs ? dateMs - startedAt : 0;
  const isClockRight = dateMs && givenMs > -CLOCK_TOLERANCE_MS && dateMs < now + CLOCK_TOLERANCE_MS;
  // A `Date` in the past may come from a cache. It is used only if the set also shows that this clock is ahead.
  const dateOffsetMs = givenMs < 0 && startedAt < refreshAt ? 0 : givenMs;
  // A set that was already due when it was requested shows that this clock is ahead, unless `Date` confirms the clock: the set is
  // valid for at least expiresAt - refreshAt, so take its arrival as refreshAt.
  const offsetMs = isClockRight ? 0 : Math.min(dateOffsetMs, refreshAt - startedAt);
  const arrivedAt = startedAt + offsetMs;
  // A set that is due, or nearly due, on arrival is refreshed halfway to its expiry.
  const isDue = arrivedAt > refreshAt - Math.min(DUE_ON_ARRIVAL_MS, (expiresAt - refreshAt) / 20);
  const dueAt = (Math.max(refreshAt, arrivedAt) + expiresAt) / 2;
  return {
    ...record,
    set: isDue && dueAt < expiresAt ? { ...set, refreshAt: dueAt } : set,
    offsetMs,
    receivedAt: now,
    acceptedUntil: Math.max(record.acceptedUntil, expiresAt),
    ended: undefined,
    // The service accepts the user.
    optedOut: undefined,
  };
}
