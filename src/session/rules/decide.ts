/**
 * The specification of a session: derives the token, the state and the one next step from the record, what only this page knows, and
 * the time.
 *
 * Pure and deterministic. `reconcile.ts` calls it after every change and on every event of the page, the timer or another tab, and
 * carries it out. In the store, `attemptClaimed` checks once more that an attempt may start. Instants are local epoch ms unless they
 * say "service time".
 */

import type { ErrorCode, TokenError } from '../../token/errors.ts';
import { type Phase, phaseOf, tokenAt } from '../../token/phase.ts';
import type { NeedReason, NextReason, NextStep, Page, Plan, SessionState, View } from './page.ts';
import { emptyRecord, isOfOtherUser, type RetryState, type SessionRecord, serviceTime } from './record.ts';
import { currentRetry, DAY_MS, isUsedUp, startOf } from './retry.ts';

/** The decision for a record, a page and a time. */
export interface Decision {
  /** The record that this page may use: an empty one if it is unknown or belongs to another user. */
  readonly record: SessionRecord;
  readonly isForeign: boolean;
  /** Service time. */
  readonly at: number;
  /** The token that the session may return. */
  readonly token: string | undefined;
  /** The record may be announced and acted upon. */
  readonly isSettled: boolean;
  /** Why a new set is needed, if one is. */
  readonly need: NeedReason | undefined;
  /** The attempt to start now. */
  readonly due: Plan | undefined;
  /** A caller of `getToken` should keep waiting. */
  readonly isTokenExpected: boolean;
  /** When to decide again at the latest; `Infinity`: after the next change. */
  readonly wakeAt: number;
  readonly state: SessionState;
}

/** Tell whether the session may use store and network: consent is given, the session is not closed, and the page is not away. */
export function isActive({ consent, isClosed, isAway }: Page): boolean {
  return consent === true && !isClosed && !isAway;
}

/** Decide at `now`. */
export function decide(view: View, page: Page, now: number): Decision {
  const isForeign = isOfOtherUser(view.record, page.user);
  const record = isForeign ? emptyRecord(view.record.baseUrl) : view.record;
  const { set, offsetMs } = record;
  const { refreshAt, expiresAt, endsAt } = set ?? {};
  const at = serviceTime(record, now);
  const phase = phaseOf(record, at);
  const token = isActive(page) ? tokenAt(record, at) : undefined;
  const isSettled = isActive(page) && view.status === 'settled';
  const retry = currentRetry(record, now);
  const need = isSettled && !isForeign ? needOf(page, record, phase, retry, at) : undefined;
  const plan = isSettled && !page.attempt ? planOf(page, record, phase, need) : undefined;
  const wait = plan && waitOf(plan, page, retry, now);
  const due = wait ? undefined : plan;
  const next = nextOf(page, record, phase, token, isSettled, plan, wait);
  const { reason } = next ?? {};
  // More instants than needed do no harm.
  const changes = [refreshAt, expiresAt, endsAt].map((instant = 0) => instant - offsetMs);
  const wakes = [...changes, next?.at ?? 0, page.otherTabUntil, retry ? retry.countedAt + DAY_MS : 0];
  const awaited = reason === 'storage' ? reason : reason === 'in_progress' ? (next?.action as Plan['kind']) : undefined;
  return {
    record,
    isForeign,
    at,
    token,
    isSettled,
    need,
    due,
    isTokenExpected: !!reason && (EXPECTED.includes(reason) || page.consent === undefined),
    wakeAt: isSettled ? Math.min(...wakes.filter((instant) => instant > now)) : Number.POSITIVE_INFINITY,
    state: {
      phase,
      refreshAt,
      expiresAt,
      endsAt,
      generation: record.generation,
      persistence: view.kind,
      waitingFor: page.consent ? (token ? undefined : awaited) : 'consent',
      lastError: page.lastError,
      clockOffsetMs: offsetMs || undefined,
      next,
    },
  };
}

/** What callers of `getToken` wait for. */
const EXPECTED: readonly NextReason[] = ['storage', 'in_progress', 'other_tab', 'woken'];

/** Why a new set is needed, if one is. */
function needOf(
  page: Page,
  { set }: SessionRecord,
  phase: Phase,
  retry: RetryState | undefined,
  at: number,
): NeedReason | undefined {
  if (phase === 'empty' || phase === 'ended') return phase;
  // The opt-out belongs to the set that opted out: another user may be signed in, whose set `provide` can return.
  if (!set) return page.canProvide || page.provideResult ? 'empty' : undefined;
  // This page does not ask the service: the host has let both tokens expire, or wants another set.
  if (!page.canRefresh && (at >= set.endsAt || (page.isForced && page.canProvide))) return 'ended';
  return isUsedUp(retry) && !page.isForced ? 'refused' : undefined;
}

/** What the session would attempt if nothing delayed it. */
function planOf(
  { canProvide, canRefresh, provideResult, isForced: isExplicit }: Page,
  { set }: SessionRecord,
  phase: Phase,
  need: NeedReason | undefined,
): Plan | undefined {
  if (need) return canProvide && provideResult !== 'nobody' ? { kind: 'provide', need, isExplicit } : undefined;
  return canRefresh && set && (phase !== 'fresh' || isExplicit) ? { kind: 'refresh', isExplicit } : undefined;
}

/** What delays a plan, and until when if that is known. */
type Wait = Omit<NextStep, 'action'>;

/** What delays a plan; undefined if it may start now. */
function waitOf(plan: Plan, page: Page, retry: RetryState | undefined, now: number): Wait | undefined {
  if (page.isForced) return undefined;
  if (page.otherTabUntil > now) return { at: page.otherTabUntil, reason: 'other_tab' };
  const startAt = startOf(plan, retry);
  const at = Math.max(startAt, page.waitUntil);
  // Not `at > now`: the host's `now` may return NaN, and attempts would follow one another without a pause.
  if (!(at <= now)) return { at, reason: retry && startAt === at ? retry.reason : 'back_off' };
  return page.hiddenAt && !page.callers ? { reason: 'hidden' } : undefined;
}

/** The one next step: what blocks the session comes first, then an attempt, then what time alone brings. */
function nextOf(
  page: Page,
  { set, offsetMs }: SessionRecord,
  phase: Phase,
  token: string | undefined,
  isSettled: boolean,
  plan: Plan | undefined,
  wait: Wait | undefined,
): NextStep | undefined {
  if (page.isClosed) return undefined;
  const action = set || !page.canProvide ? 'refresh' : 'provide';
  if (!isSettled) return { action, reason: page.consent ? 'storage' : 'consent' };
  if (page.attempt) return { at: page.attempt.startedAt, action: page.attempt.plan.kind, reason: 'in_progress' };
  // An attempt that starts now has no instant yet, so that a state that is read twice before then stays the same.
  if (plan) return { ...(wait ?? { reason: 'in_progress' }), action: plan.kind };
  if (phase === 'fresh' && page.canRefresh && set)
    return { at: set.refreshAt - offsetMs, action: 'refresh', reason: 'refresh_from' };
  if (token && set) return { at: set.expiresAt - offsetMs, action: 'expire', reason: 'expires' };
  return { action: 'provide', reason: 'page' };
}

/** The last failure, if an attempt failed: a failure of the store or of the consent gate does not explain a missing token. */
export function attemptError({ lastError }: Page): TokenError | undefined {
  return lastError && !['storage_failed', 'no_consent'].includes(lastError.code) ? lastError : undefined;
}

/** Why there is no token: first what blocks the session, then what the record says, then the failed attempt. */
export function whyNoToken({ isForeign, record }: Decision, page: Page): ErrorCode | TokenError {
  if (page.isClosed) return 'closed';
  if (!page.consent) return 'no_consent';
  if (isForeign) return 'no_token';
  if (record.optedOut) return 'opted_out';
  if (record.ended) return 'refresh_rejected';
  return ((record.set || page.provideResult === 'failed') && attemptError(page)) || 'no_token';
}
