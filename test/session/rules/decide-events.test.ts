/** Which events follow from a change, in which order; and the outcomes of a refresh, from the answer to the next step. */

import { describe, expect, test } from 'vitest';
import { attemptClaimed, attemptEnded, type Outcome } from '../../../src/session/rules/attempt-changes.ts';
import { type Emitted, type PageState, pageStateAfter } from '../../../src/session/rules/page-state.ts';
import type { SessionRecord } from '../../../src/session/rules/record.ts';
import { eventsFor, type SessionEvent } from '../../../src/session/rules/session-events.ts';
import type { NextStep } from '../../../src/session/rules/state.ts';
import type { Phase } from '../../../src/token/phase.ts';
import type { Answer } from '../../../src/token/token-set.ts';
import {
  bare,
  DUE,
  decisionOf,
  deepFreeze,
  ENDS_AT,
  EXPIRES_AT,
  FRESH,
  failure,
  HOUR,
  leaseOf,
  MINUTE,
  PAUSE,
  page,
  REFRESH,
  REFRESH_AT,
  record,
  retry,
  SECOND,
  STALE,
  setOf,
} from './fixtures.ts';

type Names = readonly string[];

/** The events of a decision, each as its name and the part of its payload that distinguishes it; and what is known then. */
function changesOf(given: SessionRecord, onPage: PageState, now: number): { events: Names; emitted: Emitted } {
  const { events, emitted } = eventsFor(onPage, decisionOf(given, onPage, now));
  const nameOf = ([name, payload]: SessionEvent) => {
    const { cause, token, reason } = payload as { cause?: string; token?: string; reason?: string };
    return [name, cause ?? token ?? reason].filter(Boolean).join(' ');
  };
  return { events: events.map(nameOf), emitted };
}

const announced = { token: 'advertising-1' };
const opened = (change: Partial<PageState> = {}) => page({ emitted: announced, ...change });
const ended = record({ ended: true });
const tombstone = bare({ optedOut: true });
const SET_OF_2 = record({ set: setOf(2) });
const usedUp = record({ retry: retry({ refusals: 4 }) });
const optedOut = page({ emitted: { optedOut: true } });

test('a `token` event carries the token, its instants and its cause, and nothing secret', () => {
  const onPage = page({ cause: 'refresh' });
  const { events } = eventsFor(onPage, decisionOf(record(), onPage, FRESH));
  const payload = { advertisingToken: 'advertising-1', refreshAt: REFRESH_AT, expiresAt: EXPIRES_AT, cause: 'refresh' };
  expect(events).toEqual([['token', payload]]);
});

describe('the events of a decision', () => {
  const asked = page({ canProvide: true });
  const nobody = page({ canProvide: true, provideResult: 'nobody' });
  const failed = page({ canProvide: true, provideResult: 'failed' });
  test.each<readonly [sentence: string, record: SessionRecord, page: PageState, now: number, expected: Names]>([
    ['a token is announced with its cause', record(), page({ cause: 'load' }), FRESH, ['token load']],
    ['a token is announced while it is due', record(), page({ cause: 'set' }), DUE, ['token set']],
    ['a token is announced once', record(), opened(), FRESH, []],
    ['another token is announced', SET_OF_2, opened({ cause: 'tab' }), FRESH, ['token tab']],
    ['a token that has expired is not announced', record(), page(), EXPIRES_AT, []],
    ['an announced token expires', record(), opened(), EXPIRES_AT, ['expired advertising']],
    ['an announced token expires with its successor', SET_OF_2, opened(), STALE, ['expired advertising']],
    ['an announced token expires if the clock was set back', record(), opened(), FRESH - HOUR, ['expired advertising']],
    ['a logout emits nothing', bare(), opened({ emitted: { ...announced, need: true } }), FRESH, []],
    ['an opt-out emits nothing else', tombstone, opened(), FRESH, ['optout']],
    ['an opt-out is emitted once', tombstone, optedOut, FRESH, []],
    ['a set behind a tombstone is not announced', record({ optedOut: true }), opened(), FRESH, ['optout']],
    ['a set that lifts the tombstone is announced', record(), optedOut, FRESH, ['token load']],
    ['the end asks the page first', ended, opened(), DUE, ['needsTokens ended', 'expired refresh']],
    ['the end is emitted once', ended, opened({ emitted: { ...announced, ended: true, need: true } }), DUE, []],
    ['both tokens end', ended, opened(), ENDS_AT, ['needsTokens ended', 'expired refresh', 'expired advertising']],
    ['an ended set is announced', ended, page(), DUE, ['needsTokens ended', 'expired refresh', 'token load']],
    ['an ended set calls `provide` before the page', ended, { ...asked, emitted: announced }, DUE, ['expired refresh']],
    ['an empty record asks the page', bare(), page(), FRESH, ['needsTokens empty']],
    ['an empty record asks once', bare(), page({ emitted: { need: true } }), FRESH, []],
    ['an empty record calls `provide` before the page', bare(), asked, FRESH, []],
    ['a page is asked if nobody is signed in', bare(), nobody, FRESH, ['needsTokens empty']],
    ['a page is asked if `provide` failed', bare(), failed, FRESH, ['needsTokens empty']],
    ['a set refused four times asks the page', usedUp, opened(), DUE, ['needsTokens refused']],
    ['a record of another user emits nothing', record({ user: 'b' }), page({ user: 'a' }), FRESH, []],
  ])('%s', (_, given, onPage, now, expected) => {
    const { events, emitted } = changesOf(given, onPage, now);
    expect(events).toEqual(expected);
    expect(!!emitted.need).toBe(!!onPage.emitted.need || /needsTokens/.test(events.join()));
    // Whatever was emitted is not emitted again.
    expect(changesOf(given, { ...onPage, emitted }, now).events).toEqual([]);
  });
});

const ANSWERED = DUE + SECOND;
const SET_2 = setOf(2, ANSWERED);
const answered = (answer: Answer | 'ended'): Outcome => ({ kind: 'answered', answer });
const failed = (status?: number, retryAfterMs?: number): Outcome => ({
  kind: 'failed',
  error: failure(status, retryAfterMs),
});

interface Seen {
  readonly phase: Phase;
  readonly token: string | undefined;
  readonly events: Names;
  readonly next: NextStep;
}

/** Apply an outcome as a session does: claim, outcome, what that changes for the page, decision. */
function seenAfter(outcome: Outcome, before: SessionRecord, onPage: PageState): Seen {
  const sent = deepFreeze(attemptClaimed(before, REFRESH, leaseOf(DUE), PAUSE)(before));
  const after = deepFreeze(attemptEnded(sent, REFRESH, outcome, undefined, () => MINUTE, ANSWERED)(sent));
  const page = { ...onPage, ...pageStateAfter(onPage, sent, after, 'refresh', false) };
  const { token, state } = decisionOf(after, page, ANSWERED);
  return { phase: state.phase, token, events: changesOf(after, page, ANSWERED).events, next: state.next! };
}

describe('the outcome of a refresh', () => {
  const refreshes = (reason: NextStep['reason'], at?: number): NextStep =>
    at ? { at, action: 'refresh', reason } : { action: 'refresh', reason };
  const kept = { phase: 'due', token: 'advertising-1', events: [] } as const;
  const fresh: Seen = {
    phase: 'fresh',
    token: 'advertising-2',
    events: ['token refresh'],
    next: refreshes('refresh_from', SET_2.refreshAt),
  };
  const expires: NextStep = { at: EXPIRES_AT, action: 'expire', reason: 'expires' };
  const asksPage: NextStep = { action: 'setTokens', reason: 'host' };
  const provides: NextStep = { action: 'provide', reason: 'in_progress' };
  const gone = (next: NextStep, events: Names): Seen => ({ phase: 'optedOut', token: undefined, events, next });
  const end = (next: NextStep, events: Names): Seen => ({ ...kept, phase: 'ended', events, next });
  const optOut = answered('optout');
  const ends = answered('ended');
  const heldBack = record({ optedOut: true });
  const withProvide = opened({ canProvide: true });
  const waits = (ms: number, reason: NextStep['reason']): Seen => ({ ...kept, next: refreshes(reason, ANSWERED + ms) });
  const fourthTime = record({ retry: retry({ refusals: 3 }) });
  const asksRefused: Seen = { ...kept, events: ['needsTokens refused'], next: expires };
  const later: NextStep = { at: ANSWERED + HOUR, action: 'provide', reason: 'retry_after' };
  test.each<readonly [sentence: string, outcome: Outcome, before: SessionRecord, page: PageState, expected: Seen]>([
    ['success brings a fresh set', answered(SET_2), record(), opened(), fresh],
    ['success lifts the tombstone', answered(SET_2), heldBack, optedOut, fresh],
    ['an opt-out leaves it to the page', optOut, record(), opened(), gone(asksPage, ['optout'])],
    ['an opt-out calls `provide`', optOut, record(), withProvide, gone(provides, ['optout'])],
    ['the end asks the page', ends, record(), opened(), end(expires, ['needsTokens ended', 'expired refresh'])],
    ['the end calls `provide` first', ends, record(), withProvide, end(provides, ['expired refresh'])],
    ['the end of a set held back asks the page', ends, heldBack, optedOut, gone(asksPage, ['needsTokens empty'])],
    ['the opt-out of a set held back does so, too', optOut, heldBack, optedOut, gone(asksPage, ['needsTokens empty'])],
    ['a first 400 waits 30 s', failed(400), record(), opened(), waits(30 * SECOND, 'refused')],
    ['a fourth 404 asks the page', failed(404), fourthTime, opened(), asksRefused],
    ['a fourth 404 calls `provide` first', failed(404), fourthTime, withProvide, { ...kept, next: provides }],
    ['Retry-After delays `provide`, too', failed(404, HOUR), fourthTime, withProvide, { ...kept, next: later }],
    ['an outage waits', failed(), record(), opened(), waits(MINUTE, 'back_off')],
    ['a 503 with Retry-After waits that long', failed(503, HOUR), record(), opened(), waits(HOUR, 'retry_after')],
  ])('%s', (_, outcome, before, onPage, expected) => expect(seenAfter(outcome, before, onPage)).toEqual(expected));
});
