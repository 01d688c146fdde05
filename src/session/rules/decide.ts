/**
 * The specification of a session: derives the token, the state and the one next step from the record, what only this page knows,
 * and the time. Pure. In the store, `attemptClaimed` checks once more that an attempt may start. Instants are local epoch ms
 * unless they say "service time".
 */

import type { ErrorCode, TokenError } from '../../token/errors.ts';
import { type Phase, phaseOf, tokenAt } from '../../token/phase.ts';
import type { PageState, View } from './page-state.ts';
import { emptyRecord, isOfOtherUser, type RetryState, type SessionRecord, serviceTime } from './record.ts';
import {
  currentRetry,
  DAY_MS,
  earliestStart,
  isLeased,
  isUsedUp,
  leaseEnd,
  NEVER,
  type NeedReason,
  type Plan,
} from './retry.ts';
import type { NextStep, SessionState } from './state.ts';

interface Facts {
  /** The record that this page may use: an empty one if it is unknown or belongs to another user. */
  readonly record: SessionRecord;
  readonly isForeign: boolean;
  /** Service time. */
  readonly at: number;
  readonly phase: Phase;
  readonly retry: RetryState | undefined;
  /** The token that the session may return. */
  readonly token: string | undefined;
  /** The record may be announced and acted upon. */
  readonly isSettled: boolean;
  /** This page waits for the attempt of another tab until then; 0: it does not. */
  readonly otherTabUntil: number;
}

export interface Decision extends Facts {
  /** Why a new set is needed, if one is. */
  readonly need: NeedReason | undefined;
  /** The attempt to start now. */
  readonly start: Plan | undefined;
  /** A caller of `getToken` should keep waiting. */
  readonly isTokenExpected: boolean;
  /** When to decide again at the latest; `Infinity`: after the next change. */
  readonly wakeAt: number;
  readonly state: SessionState;
}

/** Whether the session may use store and network. */
export function isActive({ consent, isClosed, isAway }: PageState): boolean {
  return consent === true && !isClosed && !isAway;
}

function factsOf(view: View, page: PageState, now: number): Facts {
  const isForeign = isOfOtherUser(view.record, page.user);
  const record = isForeign ? emptyRecord(view.record.baseUrl) : view.record;
  const at = serviceTime(record, now);
  const { lease } = record;
  const isWaiting = lease && lease.id === page.otherLeaseId && isLeased(record, now);
  return {
    record,
    isForeign,
    at,
    phase: phaseOf(record, at),
    retry: currentRetry(record, now),
    token: isActive(page) ? tokenAt(record, at) : undefined,
    isSettled: isActive(page) && view.isSettled,
    otherTabUntil: isWaiting ? leaseEnd(lease) : 0,
  };
}

/** `isExplicit`: the page calls `refresh()`. */
export function decide(view: View, page: PageState, now: number, isExplicit = false): Decision {
  const facts = factsOf(view, page, now);
  const { record, token, phase, retry, isSettled, otherTabUntil } = facts;
  const { refreshAt, expiresAt, endsAt } = record.set ?? {};
  const need = needOf(facts, page, isExplicit);
  const plan = planOf(facts, page, need, isExplicit);
  const wait = plan && !isExplicit ? waitOf(plan, facts, page, now) : undefined;
  const next = nextOf(facts, page, plan, wait);
  const { reason } = next ?? {};
  // To decide too often is harmless, so these include instants at which nothing may change.
  const instants = [refreshAt, expiresAt, endsAt].map((instant = 0) => instant - record.offsetMs);
  const wakes = [...instants, next?.at ?? 0, otherTabUntil, (retry?.countedAt ?? 0) + DAY_MS];
  // A late store may still bring a token, unless the page itself has changed the user.
  const mayAppear = view.isLate && !view.record.changedAt;
  const awaited = reason === 'in_progress' ? (next?.action as Plan['kind']) : reason === 'storage' ? reason : undefined;
  return {
    ...facts,
    need,
    start: wait ? undefined : plan,
    isTokenExpected: !!reason && (mayAppear || EXPECTED.includes(reason) || page.consent === undefined),
    wakeAt: isSettled ? Math.min(...wakes.filter((instant) => instant > now)) : NEVER,
    state: {
      phase,
      refreshAt,
      expiresAt,
      endsAt,
      generation: record.generation,
      persistence: view.kind,
      waitingFor: page.consent ? (token ? undefined : awaited) : 'consent',
      lastError: page.lastError,
      clockOffsetMs: record.offsetMs || undefined,
      next,
    },
  };
}

type Expected = 'storage' | 'in_progress' | 'other_tab' | 'woken';
type Unexpected = 'refresh_from' | 'expires' | 'back_off' | 'retry_after' | 'refused' | 'hidden' | 'consent' | 'host';

/** What callers of `getToken` wait for. Another reason does not compile until it is in one of the two types. */
const EXPECTED: readonly (Expected | Unexpected)[] = ['storage', 'in_progress', 'other_tab', 'woken'];

/** Why a new set is needed, if one is. */
function needOf(
  { record: { set }, isForeign, isSettled, phase, retry, at }: Facts,
  { canProvide, canRefresh, provideResult }: PageState,
  isExplicit: boolean,
): NeedReason | undefined {
  if (!isSettled || isForeign) return undefined;
  if (phase === 'empty' || phase === 'ended') return phase;
  phase satisfies 'fresh' | 'due' | 'stale' | 'optedOut';
  // The opt-out belongs to the set that opted out: another user may be signed in, whose set `provide` can return.
  if (!set) return canProvide || provideResult ? 'empty' : undefined;
  // This page does not ask the service: the host has let both tokens expire, or wants another set.
  if (!canRefresh && (at >= set.endsAt || (isExplicit && canProvide))) return 'ended';
  return isUsedUp(retry) && !isExplicit ? 'refused' : undefined;
}

/** What the session would attempt if nothing delayed it. */
function planOf(
  { record: { set }, isSettled, phase }: Facts,
  { attempt, canProvide, canRefresh, provideResult }: PageState,
  need: NeedReason | undefined,
  isExplicit: boolean,
): Plan | undefined {
  if (!isSettled || attempt) return undefined;
  if (need) return canProvide && provideResult !== 'nobody' ? { kind: 'provide', need, isExplicit } : undefined;
  // In each of these phases but `fresh`, a refresh needs no call of `refresh()`.
  phase satisfies 'fresh' | 'due' | 'stale' | 'optedOut' | 'empty' | 'ended';
  return canRefresh && set && (phase !== 'fresh' || isExplicit) ? { kind: 'refresh', isExplicit } : undefined;
}

type Wait = Omit<NextStep, 'action'>;

/** Undefined if it may start now. */
function waitOf(plan: Plan, { retry, otherTabUntil }: Facts, page: PageState, now: number): Wait | undefined {
  if (otherTabUntil) return { at: otherTabUntil, reason: 'other_tab' };
  const at = earliestStart(plan, retry);
  if (at > now) return { at, reason: retry?.reason ?? 'back_off' };
  return page.hiddenAt && !page.callers ? { reason: 'hidden' } : undefined;
}

/** The one next step: what blocks the session comes first, then an attempt, then what time alone brings. */
function nextOf(
  { record: { set, offsetMs }, isSettled, phase, token }: Facts,
  { isClosed, canProvide, canRefresh, consent, attempt }: PageState,
  plan: Plan | undefined,
  wait: Wait | undefined,
): NextStep | undefined {
  if (isClosed) return undefined;
  if (!isSettled)
    return { action: set || !canProvide ? 'refresh' : 'provide', reason: consent ? 'storage' : 'consent' };
  if (attempt) return { at: attempt.startedAt, action: attempt.plan.kind, reason: 'in_progress' };
  // An attempt that is about to start has no `at`: with one, the state would change each time it is read.
  if (plan) return { ...(wait ?? { reason: 'in_progress' }), action: plan.kind };
  if (set && phase === 'fresh' && canRefresh)
    return { at: set.refreshAt - offsetMs, action: 'refresh', reason: 'refresh_from' };
  if (set && token) return { at: set.expiresAt - offsetMs, action: 'expire', reason: 'expires' };
  return { action: canProvide ? 'signIn' : 'setTokens', reason: 'host' };
}

/** The last failure, if an attempt failed: a failure of the store or of the consent gate does not explain a missing token. */
export function attemptError({ lastError }: PageState): TokenError | undefined {
  return lastError && !['storage_failed', 'no_consent'].includes(lastError.code) ? lastError : undefined;
}

/** Why there is no token: first what blocks the session, then what the record says, then the failed attempt. */
export function whyNoToken({ isForeign, record }: Decision, page: PageState): ErrorCode | TokenError {
  if (page.isClosed) return 'closed';
  if (!page.consent) return 'no_consent';
  if (isForeign) return 'no_token';
  if (record.optedOut) return 'opted_out';
  if (record.ended) return 'refresh_rejected';
  return ((record.set || page.provideResult === 'failed') && attemptError(page)) || 'no_token';
}
