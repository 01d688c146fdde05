/** The changes that an attempt makes: it takes the lease, and ends with an outcome. Random numbers are drawn before. */

import { ownMembers } from '../../token/checks.ts';
import type { TokenError } from '../../token/errors.ts';
import { phaseOf, tokenAt } from '../../token/phase.ts';
import type { Answer, TokenSet } from '../../token/token-set.ts';
import { optedOut, setByHost } from './host-changes.ts';
import {
  applied,
  type Change,
  CLOCK_TOLERANCE_MS,
  isSameSet,
  isSameTokens,
  type Lease,
  type RetryState,
  type SessionRecord,
  serviceTime,
} from './record.ts';
import {
  currentRetry,
  DAY_MS,
  earliestStart,
  isLeased,
  isRefusal,
  LEAST_PART,
  type Pause,
  type Plan,
  REFUSAL_SPACING_MS,
} from './retry.ts';

/** No pause follows up to this number of attempts in a row that brought no valid set, if the last one has not failed. */
const FREE_ATTEMPTS = 3;

/** Pages that wake up or are opened may end this many pauses in a row early; then only one in the time of the longest pause. */
const MOST_IN_A_ROW = 7;

/** A number of attempts after which the pause has its greatest length. */
const MANY = 99;

/** A set that is due within this time of its arrival, or within a twentieth of its life, counts as due on arrival. */
const DUE_ON_ARRIVAL_MS = 60_000;

export type Outcome =
  /** The service or `provide` has answered. */
  | Answered
  /** `provide` says that nobody is signed in. */
  | { readonly kind: 'nobody' }
  | { readonly kind: 'failed'; readonly error: TokenError }
  /** It counts for nothing: another tab has the lease, it was aborted or came too late, or it was too early to ask the service again. */
  | { readonly kind: 'void' };

interface Answered {
  readonly kind: 'answered';
  /** A set, an opt-out, or the end of the refresh token. */
  readonly answer: Answer | 'ended';
  /** The `Date` header of the service's response, epoch ms, if the page may read it. */
  readonly dateMs?: number | undefined;
}

/**
 * Nothing changes if another tab has the lease, if the set has changed or ended, or if it is too early to send it again. `asked`:
 * the record at the start.
 *
 * If the store was late, the attempt was made without knowing the record, so its pause and its generation do not matter. A call of
 * `provide` for want of a set counts, unless a valid token is stored, or the user has changed since.
 *
 * A lease that has run out counts as a failure, because its tab may still be waiting, unless its Web Lock shows that it is gone.
 *
 * @param goneId  the lease whose tab is gone.
 */
export function attemptClaimed(asked: SessionRecord, plan: Plan, lease: Lease, pause: Pause, goneId?: number): Change {
  return (record, found) => {
    const now = lease.at;
    const isNeeded = !found
      ? isSameSet(record, asked)
      : asked.set
        ? isSameTokens(record.set, asked.set)
        : found.changedAt <= now && !tokenAt(record, serviceTime(record, now));
    const isOver = !isNeeded || (plan.kind === 'refresh' && record.ended && !record.optedOut);
    const isEarly = !found && now < earliestStart(plan, currentRetry(record, now));
    if (isOver || isEarly || isLeased(record, now, goneId)) return record;
    const { lease: before } = record;
    const isGone = !before || before.id === goneId;
    return { ...(isGone ? record : failed(record, plan, {}, pause, now)), lease };
  };
}

/**
 * An outcome counts only if generation and tokens are still those that were sent. While the record has its lease, which every change
 * of the host ends, the generation may differ, as that of a late store does; for `provide`, the tokens too.
 *
 * @param user  the hashed label of the page. Default: the user for whom the record waits for a set.
 */
export function attemptEnded(
  sent: SessionRecord,
  plan: Plan,
  outcome: Outcome,
  user: string | undefined,
  pause: Pause,
  now: number,
): Change {
  return (record) => {
    const isOwn = !!record.lease && record.lease.id === sent.lease?.id;
    const released = isOwn ? applied(record, withoutLease) : record;
    const isProvide = plan.kind === 'provide';
    const counts = isOwn ? isProvide || isSameTokens(record.set, sent.set) : isSameSet(record, sent);
    if (!counts)
      // The user has changed while `provide` was asked, and there is still no set.
      return isProvide && !record.set ? { ...released, retry: fruitless(released, pause, now) } : released;
    if (outcome.kind === 'failed') return failed(released, plan, outcome.error, pause, now);
    // The refusals of a stored set still count; without a set, counting starts again.
    if (outcome.kind === 'nobody' && !record.set && record.retry) return { ...released, retry: undefined };
    return outcome.kind === 'answered' ? answered(released, sent, plan, outcome, user, pause, now) : released;
  };
}

const withoutLease: Change = (record) => ({ ...record, lease: undefined });

/** For an attempt that has brought no valid set. One whose tab was left or closed before the answer is not counted. */
function counted(record: SessionRecord, pause: Pause, now: number): RetryState {
  const { attempts = 0, refusals = 0, soonestAt = 0 } = ownMembers(currentRetry(record, now));
  const longestMs = pause(MANY, LEAST_PART);
  return {
    attempts: attempts + 1,
    refusals,
    countedAt: now,
    waitUntil: 0,
    reason: 'back_off',
    soonestAt: Math.max(soonestAt, now - MOST_IN_A_ROW * longestMs) + longestMs,
  };
}

/** What of an error decides the pause after it. */
type Fault = Partial<Pick<TokenError, 'status' | 'retryAfterMs'>>;

function failed(record: SessionRecord, plan: Plan, error: Fault, pause: Pause, now: number): SessionRecord {
  const retry = counted(record, pause, now);
  const isRefused = isRefusal(plan, error);
  // The page called `refresh()`: earlier refusals no longer count.
  const earlier = plan.isExplicit ? 0 : retry.refusals;
  const ownMs = isRefused ? (REFUSAL_SPACING_MS[earlier] ?? 0) : pause(retry.attempts);
  const askedMs = Math.min(error.retryAfterMs ?? 0, DAY_MS);
  const reason = askedMs > ownMs ? 'retry_after' : isRefused ? 'refused' : 'back_off';
  const refusals = earlier + Number(isRefused);
  return { ...record, retry: { ...retry, refusals, waitUntil: now + Math.max(ownMs, askedMs), reason } };
}

/** For an attempt that has not failed, and has brought no valid set: only many of them in a row cause a pause. */
function fruitless(record: SessionRecord, pause: Pause, now: number): RetryState {
  const retry = counted(record, pause, now);
  const { attempts } = retry;
  return { ...retry, refusals: 0, waitUntil: attempts > FREE_ATTEMPTS ? now + pause(attempts) : 0 };
}

function answered(
  record: SessionRecord,
  sent: SessionRecord,
  { kind }: Plan,
  { answer, dateMs }: Answered,
  user: string | undefined,
  pause: Pause,
  now: number,
): SessionRecord {
  const retry = fruitless(record, pause, now);
  // The service confirms the opt-out of a user for whom the host has supplied another set: such attempts count together.
  if (answer === 'optout') return { ...optedOut(now)(record), retry: record.optedOut ? retry : undefined };
  if (answer === 'ended' && record.optedOut) return { ...record, retry, set: undefined };
  // `provide` may be asked at once, even if the page called `refresh()` during a pause.
  if (answer === 'ended') return { ...record, ended: true, retry: record.retry && { ...record.retry, waitUntil: 0 } };
  const isProvided = kind === 'provide';
  const after = isProvided
    ? setByHost(answer, now, user ?? record.user)(record)
    : refreshed(record, answer, sent.lease?.at ?? now, now, dateMs);
  // Keep counting if the set is due or has expired on arrival: otherwise, the service would be called endlessly. A set of `provide`
  // that is due soon counts too, because the service may refuse it.
  const at = now + after.offsetMs + (isProvided ? DUE_ON_ARRIVAL_MS : 0);
  return { ...after, retry: phaseOf(after, at) === 'fresh' ? undefined : retry };
}

/**
 * Derives the clock offset, and postpones `refreshAt` if the set would be due at once. The service read its clock between request
 * (`startedAt`) and response (`now`). If `Date` lies outside that period, the offset is taken at its end: it is better to return
 * no token than an expired one.
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
  const halfwayAt = (Math.max(refreshAt, arrivedAt) + expiresAt) / 2;
  return {
    ...record,
    set: isDue && halfwayAt < expiresAt ? { ...set, refreshAt: halfwayAt } : set,
    offsetMs,
    receivedAt: now,
    acceptedUntil: Math.max(record.acceptedUntil, expiresAt),
    ended: undefined,
    // The service accepts the user.
    optedOut: undefined,
  };
}
