/**
 * What a session does, as tables: record, page and time, and the decision that follows. Start here to learn the rules.
 *
 * The set of `record()` is fresh until `REFRESH_AT`, valid until `EXPIRES_AT`, and its refresh token ends at `ENDS_AT`.
 */

import { describe, expect, test } from 'vitest';
import { noTokenReason } from '../../../src/session/explain/no-token.ts';
import { attemptError, whyNoToken } from '../../../src/session/rules/decide.ts';
import type { PageState, View } from '../../../src/session/rules/page-state.ts';
import { emptyRecord, type RetryState, type SessionRecord } from '../../../src/session/rules/record.ts';
import type { NeedReason, Plan } from '../../../src/session/rules/retry.ts';
import type { NextReason, NextStep, SessionState } from '../../../src/session/rules/state.ts';
import { type ErrorCode, TokenError } from '../../../src/token/errors.ts';
import {
  ARRIVAL,
  attemptOf,
  BASE_URL,
  bare,
  DAY,
  DUE,
  decisionOf,
  ENDS_AT,
  EXPIRES_AT,
  FRESH,
  failure,
  HOUR,
  leaseOf,
  MINUTE,
  NEVER,
  PROVIDE,
  page,
  REFRESH,
  REFRESH_AT,
  record,
  retry,
  SECOND,
  STALE,
} from './fixtures.ts';

type Case<T> = readonly [sentence: string, given: SessionRecord | View, page: PageState, now: number, expected: T];

const none = emptyRecord(BASE_URL);
const unknown: View = { record: none, isSettled: false, kind: 'indexeddb' };
const written: View = { record: record(), isSettled: false, kind: 'indexeddb' };
const ended = record({ ended: true });
const heldBack = record({ optedOut: true });
const tombstone = bare({ optedOut: true });
const waiting = (change: Partial<RetryState>) => record({ retry: retry({ countedAt: DUE - 1, ...change }) });
const usedUp = waiting({ refusals: 4 });
const ofB = record({ user: 'b' });

const refreshing = page({ attempt: attemptOf(REFRESH, DUE - SECOND) });
const providing = page({ canProvide: true, attempt: attemptOf(PROVIDE, DUE - SECOND) });
const nobody = page({ canProvide: true, provideResult: 'nobody' });
const failed = page({ canProvide: true, provideResult: 'failed' });
const hostRefreshes = page({ canRefresh: false });
const providesOnly = page({ canRefresh: false, canProvide: true });
const pending = page({ consent: undefined });
const refused = page({ consent: false });
const closed = page({ isClosed: true });
const away = page({ isAway: true });
const hidden = page({ hiddenAt: FRESH });
const provides = page({ canProvide: true });

describe('the token that may be returned', () => {
  test.each<Case<string | undefined>>([
    ['a fresh set gives its token', record(), page(), FRESH, 'advertising-1'],
    ['the token is good until the last millisecond', record(), page(), EXPIRES_AT - 1, 'advertising-1'],
    ['the token is withheld from its expiry on', record(), page(), EXPIRES_AT, undefined],
    ['an empty record gives none', bare(), page(), FRESH, undefined],
    ['an ended set gives its token until it expires', ended, page(), DUE, 'advertising-1'],
    ['a set behind a tombstone is held back', heldBack, page(), FRESH, undefined],
    ['a set of another user is not returned', ofB, page({ user: 'a' }), FRESH, undefined],
    ['a set of the user of the page is', ofB, page({ user: 'b' }), FRESH, 'advertising-1'],
    ['a page without consent gives none', record(), refused, FRESH, undefined],
    ['a page whose gate has not answered gives none', record(), pending, FRESH, undefined],
    ['a closed page gives none', record(), closed, FRESH, undefined],
    ['a page that is away gives none', record(), away, FRESH, undefined],
    ['a hidden page gives its token', record(), hidden, FRESH, 'advertising-1'],
    ['a write in progress does not withhold the token', written, page(), FRESH, 'advertising-1'],
    ['a clock behind by the offset is corrected', record({ offsetMs: HOUR }), page(), FRESH, undefined],
    ['a clock ahead by the offset is corrected', record({ offsetMs: -HOUR }), page(), STALE - MINUTE, 'advertising-1'],
    ['a set from the future gives none: the clock was set back', record(), page(), ARRIVAL - 5_001, undefined],
  ])('%s', (_, given, onPage, now, expected) => expect(decisionOf(given, onPage, now).token).toBe(expected));
});

describe('the public state', () => {
  const error = failure(503);
  const instants = { refreshAt: REFRESH_AT, expiresAt: EXPIRES_AT, endsAt: ENDS_AT, generation: 1 };
  const empty = { phase: 'empty', refreshAt: undefined, generation: 0 } as const;
  test.each<Case<Partial<SessionState>>>([
    ['shows a fresh phase and its instants', record(), page(), FRESH, { phase: 'fresh', ...instants }],
    ['shows a due phase', record(), page(), DUE, { phase: 'due', ...instants }],
    ['does not end a set by the local clock alone', record(), page(), ENDS_AT + DAY, { phase: 'stale' }],
    ['shows an ended phase', ended, page(), STALE, { phase: 'ended' }],
    ['shows an opt-out before everything else', { ...ended, optedOut: true }, page(), FRESH, { phase: 'optedOut' }],
    ['is empty before the store is read', unknown, page(), FRESH, { ...empty, persistence: 'indexeddb' }],
    ['is empty if the record belongs to another user', ofB, page({ user: 'a' }), FRESH, empty],
    ['shows where the record is kept', bare(), page(), FRESH, { persistence: 'memory' }],
    ['shows the last failure', record(), page({ lastError: error }), DUE, { lastError: error }],
    ['shows a clock offset', record({ offsetMs: -HOUR }), page(), DUE, { clockOffsetMs: -HOUR }],
    ['shows no clock offset where the clock is right', record(), page(), DUE, { clockOffsetMs: undefined }],
  ])('%s', (_, given, onPage, now, expected) => {
    const { state } = decisionOf(given, onPage, now);
    expect(state).toMatchObject(expected);
    expect(JSON.stringify(state)).not.toMatch(/advertising-|refresh-token/);
  });
});

describe('the need for another set', () => {
  test.each<Case<NeedReason | undefined>>([
    ['empty: there is none', bare(), page(), DUE, 'empty'],
    ['ended: the service has ended it', ended, page(), FRESH, 'ended'],
    ['refused: the service has refused it four times', usedUp, page(), DUE, 'refused'],
    ['refused: as well behind the tombstone', { ...usedUp, optedOut: true }, page(), DUE, 'refused'],
    ['not after three refusals', waiting({ refusals: 3 }), page(), DUE, undefined],
    ['not for a set that is stale', record(), page(), ENDS_AT + DAY, undefined],
    ['not for a set behind the tombstone', heldBack, provides, FRESH, undefined],
    ['not after an opt-out', tombstone, page(), DUE, undefined],
    ['empty: after an opt-out, `provide` may know another user', tombstone, provides, DUE, 'empty'],
    ['empty: the set behind the tombstone was refused', tombstone, page({ provideResult: 'nobody' }), DUE, 'empty'],
    ['ended: both tokens have expired where the host refreshes', record(), hostRefreshes, ENDS_AT, 'ended'],
    ['not before that', record(), hostRefreshes, ENDS_AT - 1, undefined],
    ['not while the record is written', { ...written, record: bare() }, page(), DUE, undefined],
    ['not on a page with the record of another user', ofB, page({ user: 'a' }), DUE, undefined],
  ])('%s', (_, given, onPage, now, expected) => expect(decisionOf(given, onPage, now).need).toBe(expected));
});

describe('the next step', () => {
  const step = (action: NextStep['action'], reason: NextReason, at?: number): NextStep =>
    at === undefined ? { action, reason } : { at, action, reason };
  const refreshes = (reason: NextReason, at?: number) => step('refresh', reason, at);
  const in7 = (reason: NextReason) => refreshes(reason, DUE + 7);
  const asksPage = step('setTokens', 'host');
  const asksSignIn = step('signIn', 'host');
  const now = refreshes('in_progress');
  const dueAt = refreshes('refresh_from', REFRESH_AT);
  const expires = step('expire', 'expires', EXPIRES_AT);
  const lease = leaseOf(DUE + 7 - 12 * SECOND);
  const otherTab = page({ otherLeaseId: lease.id });
  const until = (reason: RetryState['reason'], waitUntil = DUE + 7) => waiting({ reason, waitUntil });
  const bareUntil7 = { ...until('refused'), set: undefined };
  test.each<Case<NextStep | undefined>>([
    ['refresh_from: a fresh set is refreshed when it is due', record(), page(), FRESH, dueAt],
    ['refresh_from: in local time', record({ offsetMs: 7 }), page(), FRESH, refreshes('refresh_from', REFRESH_AT - 7)],
    ['expires: a page that may not refresh waits for the expiry', record(), hostRefreshes, FRESH, expires],
    ['expires: an ended set lives on', ended, page(), FRESH, expires],
    ['expires: in local time', { ...ended, offsetMs: 7 }, page(), FRESH, step('expire', 'expires', EXPIRES_AT - 7)],
    ['in_progress: a due set is refreshed now', record(), page(), REFRESH_AT, now],
    ['in_progress: `provide` is called now', bare(), provides, DUE, step('provide', 'in_progress')],
    ['in_progress: since a refresh began', record(), refreshing, DUE, refreshes('in_progress', DUE - SECOND)],
    ['in_progress: since `provide` began', bare(), providing, DUE, step('provide', 'in_progress', DUE - SECOND)],
    ['other_tab: it has the lease', { ...until('refused'), lease }, otherTab, DUE, in7('other_tab')],
    ['in_progress: nobody knows whether the tab of a lease is gone', record({ lease }), page(), DUE, now],
    ['in_progress: the lease is another one', record({ lease: leaseOf(DUE, { id: 1 }) }), otherTab, DUE, now],
    ['in_progress: the other tab has ended its lease', record(), otherTab, DUE, now],
    ['in_progress: the lease of the other tab is over', record({ lease }), otherTab, DUE + 7, now],
    ['back_off: the last attempt failed', until('back_off'), page(), DUE, in7('back_off')],
    ['refused: the service refused the set', until('refused'), page(), DUE, in7('refused')],
    ['retry_after: the service asked for a pause', until('retry_after'), page(), DUE, in7('retry_after')],
    ['woken: the page woke up', until('woken'), page(), DUE, in7('woken')],
    ['refused: `provide` waits, too', bareUntil7, failed, DUE, step('provide', 'refused', DUE + 7)],
    ['in_progress: the pause is over', until('refused', DUE), page(), DUE, now],
    ['in_progress: the pause is of a day ago', until('refused', NEVER), page(), DUE - 1 + DAY, now],
    ['hidden: a hidden page waits for no known instant', record(), hidden, DUE, refreshes('hidden')],
    ['in_progress: a hidden page is asked for a token', record(), { ...hidden, callers: 1 }, DUE, now],
    ['consent: the gate has not answered', record(), pending, DUE, refreshes('consent')],
    ['consent: it is refused', bare(), { ...provides, consent: false }, DUE, step('provide', 'consent')],
    ['storage: the record is being read', unknown, page(), DUE, refreshes('storage')],
    ['storage: the record is being read, and may be empty', unknown, provides, DUE, step('provide', 'storage')],
    ['storage: the record is being written', written, provides, DUE, refreshes('storage')],
    ['storage: the page is away', record(), away, DUE, refreshes('storage')],
    ['host: there is no set and no `provide`', bare(), page(), DUE, asksPage],
    ['host: nobody is signed in', bare(), nobody, DUE, asksSignIn],
    ['host: the user has opted out', tombstone, page(), DUE, asksPage],
    ['host: the set was refused four times, and has expired', usedUp, page(), STALE, asksPage],
    ['host: the host has let both tokens expire', record(), hostRefreshes, ENDS_AT, asksPage],
    ['host: the record belongs to another user', ofB, page({ user: 'a', canProvide: true }), DUE, asksSignIn],
    ['a closed page has none', record(), closed, FRESH, undefined],
  ])('%s', (_, given, onPage, at, expected) => {
    const { next } = decisionOf(given, onPage, at).state;
    expect(next).toEqual(expected);
    expect(next && 'at' in next).toBe(expected && 'at' in expected);
  });
});

describe('the attempt that starts now', () => {
  const provideFor = (need: NeedReason): Plan => ({ kind: 'provide', need, isExplicit: false });
  test.each<Case<Plan | undefined>>([
    ['a fresh set is left alone', record(), provides, REFRESH_AT - 1, undefined],
    ['a set is refreshed from the instant at which it is due', record(), provides, REFRESH_AT, REFRESH],
    ['a set past its end by the local clock is refreshed', record(), page(), ENDS_AT + DAY, REFRESH],
    ['a set behind a tombstone is refreshed at once', heldBack, provides, FRESH, REFRESH],
    ['a set from the future is refreshed', record(), page(), ARRIVAL - HOUR, REFRESH],
    ['a page that may not refresh does nothing', record(), providesOnly, STALE, undefined],
    ['`provide` is called for an empty record', bare(), provides, FRESH, PROVIDE],
    ['`provide` is called for a set that has ended, even if it is good', ended, provides, FRESH, provideFor('ended')],
    ['`provide` is called for a set that was refused', usedUp, provides, DUE, provideFor('refused')],
    ['`provide` is called after an opt-out', tombstone, provides, DUE, PROVIDE],
    ['`provide` is called where both tokens have expired', record(), providesOnly, ENDS_AT, provideFor('ended')],
    ['`provide` is not called while nobody is signed in', bare(), nobody, DUE, undefined],
    ['`provide` is called again after a failure', bare(), failed, DUE, PROVIDE],
    ['a set that was refused is not sent again', usedUp, page(), DUE, undefined],
    ['a set that was refused a day ago is', usedUp, page(), DUE - 1 + DAY, REFRESH],
    ['a second attempt does not start', record(), refreshing, DUE, undefined],
    ['without consent, nothing starts', record(), refused, DUE, undefined],
    ['without the record, nothing starts', unknown, provides, DUE, undefined],
    ['while the record is written, nothing starts', written, page(), DUE, undefined],
    ['with the record of another user, nothing starts', ofB, page({ user: 'a', canProvide: true }), DUE, undefined],
    ['with a record of its user, all starts', ofB, page({ user: 'b' }), DUE, REFRESH],
  ])('%s', (_, given, onPage, now, expected) => expect(decisionOf(given, onPage, now).start).toEqual(expected));

  const provideNow = (need: NeedReason): Plan => ({ kind: 'provide', need, isExplicit: true });
  const refreshNow: Plan = { ...REFRESH, isExplicit: true };
  const lease = leaseOf(DUE);
  const busy = page({ hiddenAt: FRESH, otherLeaseId: lease.id });
  test.each<Case<Plan | undefined>>([
    ['refreshes a fresh set', record(), page(), FRESH, refreshNow],
    ['refreshes a set that was refused', usedUp, page(), DUE, refreshNow],
    ['refreshes a set behind a tombstone', heldBack, page(), DUE, refreshNow],
    ['waits for nothing', { ...waiting({ waitUntil: NEVER }), lease }, busy, DUE, refreshNow],
    ['calls `provide` for an empty record', bare(), provides, DUE, provideNow('empty')],
    ['calls `provide` for a set that has ended', ended, provides, DUE, provideNow('ended')],
    ['calls `provide` where the host refreshes', record(), providesOnly, FRESH, provideNow('ended')],
    ['attempts nothing where it may do neither', record(), hostRefreshes, FRESH, undefined],
    ['attempts nothing without a set and `provide`', bare(), page(), DUE, undefined],
    ['attempts nothing after an opt-out that left no set', tombstone, page(), DUE, undefined],
    ['attempts nothing for another user', ofB, page({ user: 'a' }), DUE, undefined],
    ['does not start a second attempt', record(), refreshing, DUE, undefined],
  ])('where the page calls `refresh()`: %s', (_, given, onPage, now, expected) => {
    expect(decisionOf(given, onPage, now, true).start).toEqual(expected);
  });
});

describe('what the session, and a caller of getToken, waits for', () => {
  const late = (given: SessionRecord): View => ({ record: given, isSettled: true, isLate: true, kind: 'indexeddb' });
  type Waits = readonly [waitingFor: SessionState['waitingFor'], isTokenExpected: boolean];
  test.each<Case<Waits>>([
    ['nothing, with a good token; a refresh will bring another', record(), page(), DUE, [undefined, true]],
    ['nothing, with a fresh set', record(), page(), FRESH, [undefined, false]],
    ['consent, until it is answered', unknown, pending, DUE, ['consent', true]],
    ['consent, but not the caller once it is refused', bare(), refused, DUE, ['consent', false]],
    ['storage, until it is read', unknown, page(), DUE, ['storage', true]],
    ['storage, until the write has ended', { ...written, record: bare() }, page(), DUE, ['storage', true]],
    ['a refresh that starts now', record(), page(), STALE, ['refresh', true]],
    ['a refresh in progress', record(), refreshing, STALE, ['refresh', true]],
    ['`provide` that is called now', bare(), provides, DUE, ['provide', true]],
    ['`provide` in progress', bare(), providing, DUE, ['provide', true]],
    [
      'another tab',
      record({ lease: leaseOf(STALE) }),
      page({ otherLeaseId: leaseOf(STALE).id }),
      STALE,
      [undefined, true],
    ],
    ['a page that woke up', waiting({ waitUntil: STALE + 1, reason: 'woken' }), page(), STALE, [undefined, true]],
    ['no pause', waiting({ waitUntil: STALE + 1 }), page(), STALE, [undefined, false]],
    ['nothing, where nobody can be asked', bare(), page(), DUE, [undefined, false]],
    ['a late store, which may have a token', late(bare()), page(), DUE, [undefined, true]],
    [
      'no late store, once the page has changed the user',
      late(bare({ changedAt: FRESH })),
      page(),
      DUE,
      [undefined, false],
    ],
    ['nothing, on a closed page', unknown, { ...refreshing, isClosed: true }, DUE, [undefined, false]],
  ])('%s', (_, given, onPage, now, [waitingFor, isTokenExpected]) => {
    const decision = decisionOf(given, onPage, now);
    expect([decision.state.waitingFor, decision.isTokenExpected]).toEqual([waitingFor, isTokenExpected]);
  });
});

describe('when to decide again', () => {
  test.each<Case<number>>([
    ['when a fresh set is due', record(), page(), FRESH, REFRESH_AT],
    ['when the token expires', record(), refreshing, DUE, EXPIRES_AT],
    ['when the refresh token ends', record(), hidden, STALE, ENDS_AT],
    ['in local time, earlier by the clock offset', record({ offsetMs: 7 }), refreshing, DUE, EXPIRES_AT - 7],
    ['when the pause is over', waiting({ waitUntil: DUE + 7 }), page(), DUE, DUE + 7],
    ['when the token expires, before the end of the pause', waiting({ waitUntil: STALE }), page(), DUE, EXPIRES_AT],
    [
      'when the wait for another tab is over',
      record({ lease: leaseOf(FRESH) }),
      page({ otherLeaseId: leaseOf(FRESH).id }),
      FRESH,
      FRESH + 12_000,
    ],
    ['when refusals no longer count', { ...usedUp, set: undefined }, nobody, STALE, DUE - 1 + DAY],
    ['only after a change, for a set that is past its end', record(), hidden, ENDS_AT, NEVER],
    ['only after a change, for an empty record', bare(), page(), FRESH, NEVER],
    ['only after a change, while the record is written', written, page(), FRESH, NEVER],
    ['only after a change, without consent', record(), refused, FRESH, NEVER],
    ['only after a change, on a page that is away', record(), away, FRESH, NEVER],
    ['only after a change, with the record of another user', ofB, page({ user: 'a' }), FRESH, NEVER],
    ['never again, once the page is closed', record(), closed, FRESH, NEVER],
  ])('%s', (_, given, onPage, now, expected) => expect(decisionOf(given, onPage, now).wakeAt).toBe(expected));
});

describe('why there is no token', () => {
  const all = { ...ended, optedOut: true };
  const error = failure(503);
  const gateFailed = new TokenError('no_consent', 'consent: the gate failed');
  const storeFailed = new TokenError('storage_failed');
  const setBack = record({ receivedAt: STALE + HOUR });
  const later = { countedAt: DUE, waitUntil: STALE + HOUR };
  const [paused, barePaused] = [record({ retry: retry(later) }), bare({ retry: retry(later) })];
  const awaited = bare({ changedAt: ARRIVAL, user: 'b' });
  const failing = page({ lastError: error });
  const ofA = page({ user: 'a', lastError: error, provideResult: 'failed' });
  type Row = readonly [string, SessionRecord | View, PageState, why: ErrorCode | TokenError, words: string];
  test.each<Row>([
    ['a closed page comes first', all, { ...closed, consent: false }, 'closed', 'was closed'],
    ['a gate that has not answered comes before the record', all, pending, 'no_consent', 'has not answered yet'],
    ['a refusal comes before the record', all, { ...refused, lastError: error }, 'no_consent', 'refused or withdrawn'],
    ['a gate that failed says so', all, { ...refused, lastError: gateFailed }, 'no_consent', 'the gate failed'],
    ['an opt-out comes before the end', all, failing, 'opted_out', 'opted out'],
    ['an end comes before the failure', ended, failing, 'refresh_rejected', 'refused the refresh'],
    ['another user comes first', { ...all, user: 'b' }, ofA, 'no_token', 'another user'],
    ['a refresh failed', record(), failing, error, ''],
    ['`provide` failed', bare(), { ...failed, lastError: error }, error, ''],
    ['nobody is signed in, since it failed', bare(), { ...nobody, lastError: error }, 'no_token', 'provide returned'],
    ['a store failed, which matters not', paused, page({ lastError: storeFailed }), 'no_token', 'expired;'],
    ['a gate failed, but not for good', paused, page({ lastError: gateFailed }), 'no_token', 'expired;'],
    ['the user has logged out', bare({ changedAt: ARRIVAL }), nobody, 'no_token', 'the user has logged out'],
    ['another user is awaited', awaited, providing, 'no_token', 'no token set; an attempt (provide) is in progress'],
    ['`provide` is missing', bare(), page(), 'no_token', 'no option provide'],
    ['`provide` is called later', barePaused, provides, 'no_token', 'at 2030-01-15T15:00:00.000Z (back_off)'],
    ['the page is hidden', record(), hidden, 'no_token', 'the next attempt follows (hidden)'],
    ['the host refreshes', record(), hostRefreshes, 'no_token', "with refresh: 'off', the host supplies"],
    ['the host has supplied nothing', bare(), hostRefreshes, 'no_token', "with refresh: 'off', the host supplies"],
    ['the clock of the device was set back', setBack, page(), 'no_token', 'was set back'],
    ['the record is being read', unknown, page(), 'no_token', 'not known yet'],
  ])('%s', (_, given, onPage, why, words) => {
    const decision = decisionOf(given, onPage, STALE);
    const found = whyNoToken(decision, onPage);
    expect(found).toBe(why);
    if (typeof found === 'string') expect(noTokenReason(found, decision, onPage)).toContain(words);
  });

  test.each<readonly [TokenError | undefined, explains: boolean]>([
    [error, true],
    [storeFailed, false],
    [gateFailed, false],
    [undefined, false],
  ])('the last failure: %s', (lastError, explains) => {
    expect(attemptError(page({ lastError }))).toBe(explains ? lastError : undefined);
  });
});
