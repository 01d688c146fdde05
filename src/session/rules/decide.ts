/**
 * The specification of a session: derives the current state and the next action from the stored record, the page state and the time.
 *
 * Pure and deterministic. `shell.ts` calls it after every change and on every event of the page, the timer or another tab. Under the
 * lock, `claimRefresh` checks the delay again; `recordAdopted` decides when nobody is asked for a set. Instants are local epoch ms
 * unless they say "service time".
 */

import { nextWakeAt, type Phase, phaseOf, tokenAt } from '../../token/phase.ts';
import type { AttemptPlan, NeedReason } from './attempt-plan.ts';
import { type Emitted, isActive, isSettled, type PageState } from './page-state.ts';
import type { NextReason, NextStep, SessionEvent, SessionState } from './public-state.ts';
import { clockTrustedAt, emptyRecord, type SessionRecord, serviceTime } from './record.ts';
import { currentRetry, isUsedUp, MAX_WAIT_MS, nextAttempt, type RetryState } from './retry.ts';
import { isOfOtherUser } from './user.ts';

/** The decision for a record, a page state and a time. */
export interface Decision {
  /** The token that the session may return. */
  readonly token: string | undefined;
  readonly state: SessionState;
  /** In the order in which they are emitted. */
  readonly events: readonly SessionEvent[];
  /** The attempt to start now. */
  readonly attempt: AttemptPlan | undefined;
  /** The attempt in progress is void: the record has another generation. */
  readonly isAttemptVoid: boolean;
  /** When to decide again at the latest; `Infinity`: after the next change. Always after `now`, unless an attempt starts. */
  readonly wakeAt: number;
  /** A caller of `getToken` should keep waiting. */
  readonly isTokenExpected: boolean;
  /** The page state once the events are emitted. */
  readonly page: PageState;
}

/** No instant. */
const NEVER = Number.POSITIVE_INFINITY;

/** What delays an attempt, and until when if that is known. */
type Wait = Omit<NextStep, 'action'>;

/** Decide the state at `now` and what to do. */
export function decide(stored: SessionRecord, given: PageState, now: number): Decision {
  const isForeign = isOfOtherUser(stored, given.user);
  const record = given.isCurrent && !isForeign ? stored : emptyRecord(stored.baseUrl);
  const at = serviceTime(record, now);
  const phase = phaseOf(record, at);
  const retry = currentRetry(record.retry, now);
  const token = isActive(given) ? tokenAt(record, at) : undefined;
  const settled = isSettled(given);
  const need = settled && !isForeign ? needOf(given, record, phase, retry, at) : undefined;
  const isAttemptVoid = given.attempt !== undefined && given.attempt.generation !== stored.generation;
  const page: PageState = {
    ...given,
    ...(isAttemptVoid && { attempt: undefined }),
    // A fresh set ends the page's own back-off.
    ...(phase === 'fresh' && settled && { fruitlessAttempts: 0, notBefore: 0 }),
  };
  const plan = settled && !page.attempt ? planOf(page, record, phase, need, now) : undefined;
  const wait = plan && waitOf(plan, page, retry, now);
  const attempt = plan && !wait ? plan : undefined;
  // The attempt in progress, or the one that starts now.
  const pending = page.attempt?.plan ?? attempt;
  const changesAt = at < NEVER ? nextWakeAt(record, at) - record.offsetMs : clockTrustedAt(record);
  const { events, emitted } = settled ? eventsOf(page, record, at, token, need) : { events: [], emitted: page.emitted };
  return {
    token,
    state: {
      phase,
      refreshAt: record.set?.refreshAt,
      expiresAt: record.set?.expiresAt,
      endsAt: record.set?.endsAt,
      persistence: page.persistence,
      waitingFor: waitingForOf(page, token, pending),
      lastError: page.lastError,
      clockOffsetMs: record.offsetMs || undefined,
      next: nextOf(page, record, phase, token, pending, plan, wait),
    },
    events,
    attempt,
    isAttemptVoid,
    wakeAt: settled ? Math.min(changesAt, wait?.at ?? NEVER, wakeAtOf(page, record, retry, at, now)) : NEVER,
    isTokenExpected:
      !page.isClosed && page.consent !== 'refused' && (!settled || pending !== undefined || isSoon(wait)),
    page: { ...page, emitted },
  };
}

/** When to decide again for a reason other than a change of the set or a waiting attempt. */
function wakeAtOf(
  { canRefresh, otherTabUntil }: PageState,
  { set, offsetMs }: SessionRecord,
  retry: RetryState | undefined,
  at: number,
  now: number,
): number {
  return Math.min(
    // This page does not refresh: after the end of the refresh token, it asks the host.
    !canRefresh && set && at < set.endsAt ? set.endsAt - offsetMs : NEVER,
    // Even if the set is fresh: a call of `refresh()` may be waiting for the other tab.
    otherTabUntil > now ? otherTabUntil : NEVER,
    // Rejections count for a day; then the service is asked again.
    retry && isUsedUp(retry) ? retry.startedAt + MAX_WAIT_MS : NEVER,
  );
}

/** Why a new set is needed, if one is. */
function needOf(
  page: PageState,
  { set }: SessionRecord,
  phase: Phase,
  retry: RetryState | undefined,
  at: number,
): NeedReason | undefined {
  if (phase === 'empty' || phase === 'ended') return phase;
  // The opt-out belongs to the set that opted out: another user may be signed in, whose set `provide` can return.
  if (phase === 'optedOut' && !set) return page.canProvide || page.provideResult ? 'empty' : undefined;
  // This page does not ask the service, and the host has let both tokens expire.
  if (!page.canRefresh && set && at >= set.endsAt) return 'ended';
  return isUsedUp(retry) ? 'refused' : undefined;
}

/**
 * What the session would attempt now if nothing delayed it.
 *
 * @param isExplicit  the page called `refresh()`: a fresh set is refreshed, too.
 */
function planOf(
  page: PageState,
  record: SessionRecord,
  phase: Phase,
  need: NeedReason | undefined,
  now: number,
  isExplicit = false,
): AttemptPlan | undefined {
  // The lock was found taken twice in a row, with a full wait in between and no message from its holder.
  const ignoresLock = page.lockRefusals >= 2 && page.otherTabUntil <= now;
  if (need) {
    if (!page.canProvide || page.provideResult === 'nobody') return undefined;
    return { kind: 'provide', reason: need, ignoresLock };
  }
  if (!page.canRefresh || !record.set || (phase === 'fresh' && !isExplicit)) return undefined;
  return { kind: 'refresh', isExplicit, ignoresLock };
}

/** What delays a plan; undefined if it may start now. */
function waitOf(plan: AttemptPlan, page: PageState, retry: RetryState | undefined, now: number): Wait | undefined {
  if (page.otherTabUntil > now) return { at: page.otherTabUntil, reason: 'other_tab' };
  // `wokeUp` shortens this page's pause to the instant of the attempt after waking, so the two are then equal. On a page that never
  // slept, both may be 0, which has passed.
  const isWoken = page.notBefore === page.wakeAttemptAt;
  let wait: { at: number; reason: NextReason } = { at: page.notBefore, reason: isWoken ? 'woken' : 'back_off' };
  const next = plan.kind === 'refresh' ? nextAttempt(retry, page.wakeAttemptAt) : undefined;
  if (next && next.at > wait.at) wait = next;
  // Not `wait.at > now`: if the host's `now` returns NaN, attempts would follow one another without a pause.
  if (!(wait.at <= now)) return wait;
  return page.hiddenAt && !page.callers ? { reason: 'hidden' } : undefined;
}

/** Tell whether a wait is so short that callers of `getToken` should wait too. */
function isSoon(wait: { reason: NextReason } | undefined): boolean {
  return wait?.reason === 'other_tab' || wait?.reason === 'woken';
}

/** The events for the difference between the last emitted state and the current one, at service time `at`. */
function eventsOf(
  { emitted: before, cause, canProvide, provideResult }: PageState,
  { set, ended, optedOut }: SessionRecord,
  at: number,
  token: string | undefined,
  need: NeedReason | undefined,
): { events: SessionEvent[]; emitted: Emitted } {
  const events: SessionEvent[] = [];
  // The token that listeners know of.
  let known = token;
  let isNeedEmitted = before.need;
  if (need && !isNeedEmitted && (!canProvide || provideResult)) {
    events.push(['needsTokens', { reason: need }]);
    isNeedEmitted = true;
  }
  if (optedOut && !before.optedOut) events.push(['optout', {}]);
  if (ended && !before.ended) events.push(['expired', { token: 'refresh' }]);
  if (set && token && token !== before.token) {
    const { advertisingToken, expiresAt, refreshAt } = set;
    events.push(['token', { advertisingToken, expiresAt, refreshAt, cause }]);
  } else if (!optedOut && !token && before.token && set) {
    // Only the local clock says that the refresh token has expired; the service must confirm it.
    if (ended || at < set.endsAt) events.push(['expired', { token: 'advertising' }]);
    else known = before.token;
  }
  return { events, emitted: { token: known, optedOut, ended, need: isNeedEmitted } };
}

function waitingForOf(
  page: PageState,
  token: string | undefined,
  pending: AttemptPlan | undefined,
): SessionState['waitingFor'] {
  if (page.consent !== 'granted') return 'consent';
  if (!page.isCurrent) return 'storage';
  return token ? undefined : pending?.kind;
}

/** What the session does next; see {@link NextReason}. `noTokenError` says in words why there is no token. */
function nextOf(
  page: PageState,
  { set, offsetMs }: SessionRecord,
  phase: Phase,
  token: string | undefined,
  pending: AttemptPlan | undefined,
  plan: AttemptPlan | undefined,
  wait: Wait | undefined,
): NextStep | undefined {
  if (page.isClosed) return undefined;
  const action = set || !page.canProvide ? 'refresh' : 'provide';
  if (!isSettled(page)) return { action, reason: page.consent === 'granted' ? 'storage' : 'consent' };
  // An attempt that starts now has no instant yet, so that a state that is read twice before then stays the same.
  if (pending)
    return { ...(page.attempt && { at: page.attempt.startedAt }), action: pending.kind, reason: 'in_progress' };
  if (plan && wait) return { ...wait, action: plan.kind };
  if (phase === 'fresh' && page.canRefresh && set) {
    return { at: set.refreshAt - offsetMs, action: 'refresh', reason: 'refresh_from' };
  }
  if (token && set) return { at: set.expiresAt - offsetMs, action: 'expire', reason: 'expires' };
  return { action: 'provide', reason: 'page' };
}

/**
 * What an explicit `refresh()` attempts; undefined if the record belongs to another user, or if a new set is needed and there is no
 * `provide`.
 */
export function explicitPlan(record: SessionRecord, page: PageState, now: number): AttemptPlan | undefined {
  if (isOfOtherUser(record, page.user)) return undefined;
  const at = serviceTime(record, now);
  const phase = phaseOf(record, at);
  const need = page.canRefresh ? needOf(page, record, phase, undefined, at) : 'empty';
  return planOf(page, record, phase, need, now, true);
}
