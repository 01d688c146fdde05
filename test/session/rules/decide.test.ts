/**
 * What a session does, as tables: record, page and time, and the decision that follows. Start here to learn the rules.
 *
 * The set of `record()` is fresh until `REFRESH_AT`, valid until `EXPIRES_AT`, and its refresh token ends at `ENDS_AT`.
 */

import { describe, expect, test } from 'vitest';
import type { AttemptInProgress, AttemptPlan } from '../../../src/session/rules/attempt-plan.ts';
import { decide, explicitPlan } from '../../../src/session/rules/decide.ts';
import type { PageState } from '../../../src/session/rules/page-state.ts';
import { isSameState, type NextStep, type SessionState } from '../../../src/session/rules/public-state.ts';
import type { SessionRecord } from '../../../src/session/rules/record.ts';
import {
  ARRIVAL,
  bare,
  DAY,
  DUE,
  ENDS_AT,
  EXPIRES_AT,
  FRESH,
  failure,
  HOUR,
  MINUTE,
  page,
  REFRESH_AT,
  record,
  retry,
  SECOND,
  STALE,
  setOf,
} from './fixtures.ts';

/** A sentence, the three inputs, and what is expected. */
type Case<T> = readonly [sentence: string, record: SessionRecord, page: PageState, now: number, expected: T];

const REFRESH: AttemptPlan = { kind: 'refresh', isExplicit: false, ignoresLock: false };
const PROVIDE: AttemptPlan = { kind: 'provide', reason: 'empty', ignoresLock: false };
const refreshing: AttemptInProgress = { plan: REFRESH, generation: 1, startedAt: DUE - SECOND };
const providing: AttemptInProgress = { plan: PROVIDE, generation: 1, startedAt: DUE - SECOND };
const NEVER = Number.POSITIVE_INFINITY;

const reading = { isCurrent: false };
const writing = { writes: 1 };
const usedUp = retry({ refusals: 4 });

describe('the token that may be returned', () => {
  test.each<Case<string | undefined>>([
    ['a fresh set gives its token', record(), page(), FRESH, 'advertising-1'],
    ['a set that is due gives its token', record(), page(), DUE, 'advertising-1'],
    ['the token is good until the last millisecond', record(), page(), EXPIRES_AT - 1, 'advertising-1'],
    ['the token is withheld from its expiry on', record(), page(), EXPIRES_AT, undefined],
    ['an empty record gives none', bare(), page(), FRESH, undefined],
    ['an ended set gives its token until it expires', record({ ended: true }), page(), DUE, 'advertising-1'],
    ['a set behind a tombstone is held back', record({ optedOut: true }), page(), FRESH, undefined],
    ['a closed page gives none', record(), page({ isClosed: true }), FRESH, undefined],
    ['a page that has not read its store gives none', record(), page(reading), FRESH, undefined],
    ['a write in progress does not withhold the token', record(), page(writing), FRESH, 'advertising-1'],
    ['a hidden page gives its token', record(), page({ hiddenAt: FRESH }), FRESH, 'advertising-1'],
    ['a clock behind by the offset is corrected', record({ offsetMs: HOUR }), page(), FRESH, undefined],
    ['a clock ahead by the offset is corrected', record({ offsetMs: -HOUR }), page(), STALE - MINUTE, 'advertising-1'],
    ['a clock before the arrival of the set gives none', record(), page(), ARRIVAL - 5_001, undefined],
    ['a clock 5 s before the arrival is tolerated', record(), page(), ARRIVAL - 5_000, 'advertising-1'],
  ])('%s', (_, stored, given, now, expected) => {
    expect(decide(stored, given, now).token).toBe(expected);
  });

  // Fault: `decide` reads the record of any page that has read its store. A session erases the record when consent is
  // withdrawn; the rule itself does not depend on consent.
  test.each<Case<undefined>>([
    ['a page whose consent is refused gives none', record(), page({ consent: 'refused' }), FRESH, undefined],
    ['a page whose consent is pending gives none', record(), page({ consent: 'pending' }), FRESH, undefined],
  ])('%s', (_, stored, given, now, expected) => {
    expect(decide(stored, given, now).token).toBe(expected);
  });
});

describe('the next step', () => {
  const waiting = (change: Parameters<typeof retry>[0]) => record({ retry: retry({ startedAt: DUE - 1, ...change }) });
  const refreshAt = (at: number, reason: NextStep['reason']): NextStep => ({ at, action: 'refresh', reason });
  test.each<Case<NextStep | undefined>>([
    [
      'refresh_from: a fresh set is refreshed when it is due',
      record(),
      page(),
      FRESH,
      refreshAt(REFRESH_AT, 'refresh_from'),
    ],
    [
      'refresh_from: the instant is local, so a clock offset is taken off',
      record({ offsetMs: MINUTE }),
      page(),
      FRESH,
      refreshAt(REFRESH_AT - MINUTE, 'refresh_from'),
    ],
    [
      'expires: a page that may not refresh waits for the expiry',
      record(),
      page({ canRefresh: false }),
      DUE,
      { at: EXPIRES_AT, action: 'expire', reason: 'expires' },
    ],
    [
      'expires: an ended set without `provide` lives until its expiry',
      record({ ended: true }),
      page(),
      DUE,
      { at: EXPIRES_AT, action: 'expire', reason: 'expires' },
    ],
    [
      'expires: a page that may not refresh waits for the expiry even if the set is fresh',
      record(),
      page({ canRefresh: false }),
      FRESH,
      { at: EXPIRES_AT, action: 'expire', reason: 'expires' },
    ],
    [
      'expires: a fresh set that the service has ended, without `provide`, lives until its expiry',
      record({ ended: true }),
      page(),
      FRESH,
      { at: EXPIRES_AT, action: 'expire', reason: 'expires' },
    ],
    ['in_progress: a due set is refreshed now', record(), page(), DUE, { action: 'refresh', reason: 'in_progress' }],
    [
      'in_progress: a running refresh shows when it began',
      record(),
      page({ attempt: refreshing }),
      DUE,
      refreshAt(DUE - SECOND, 'in_progress'),
    ],
    [
      'in_progress: a running `provide` shows when it began',
      bare(),
      page({ attempt: providing, canProvide: true }),
      DUE,
      { at: DUE - SECOND, action: 'provide', reason: 'in_progress' },
    ],
    [
      'other_tab: another tab is refreshing',
      record(),
      page({ otherTabUntil: DUE + 1 }),
      DUE,
      refreshAt(DUE + 1, 'other_tab'),
    ],
    [
      'back_off: the record asks for a pause after an outage',
      waiting({ outages: 1, waitMs: 9_000 }),
      page(),
      DUE,
      refreshAt(DUE - 1 + 9_000, 'back_off'),
    ],
    [
      'back_off: this page asks for a pause that the record does not know',
      record(),
      page({ notBefore: DUE + 7 }),
      DUE,
      refreshAt(DUE + 7, 'back_off'),
    ],
    [
      'back_off: a failed `provide` is called again after a pause',
      bare(),
      page({ canProvide: true, provideResult: 'failed', notBefore: DUE + 7 }),
      DUE,
      { at: DUE + 7, action: 'provide', reason: 'back_off' },
    ],
    [
      'retry_after: the service asked for a pause',
      waiting({ outages: 1, waitMs: 9_000, retryAfterMs: HOUR }),
      page(),
      DUE,
      refreshAt(DUE - 1 + HOUR, 'retry_after'),
    ],
    [
      'budget: the attempts of the last 30 minutes are spent',
      waiting({ attempts: 15, waitMs: 9_000 }),
      page(),
      DUE,
      refreshAt(DUE - 1 + 125_000, 'budget'),
    ],
    [
      'refused: the service refused the set',
      waiting({ refusals: 1, waitMs: 30_000 }),
      page(),
      DUE,
      refreshAt(DUE - 1 + 30_000, 'refused'),
    ],
    [
      'woken: a page that woke up does not wait for the back-off',
      record({ retry: retry({ outages: 5, startedAt: DUE - MINUTE, waitMs: HOUR }) }),
      page({ wakeAttemptAt: DUE + 500 }),
      DUE,
      refreshAt(DUE + 500, 'woken'),
    ],
    [
      'hidden: a hidden page waits for no known instant',
      record(),
      page({ hiddenAt: FRESH }),
      DUE,
      { action: 'refresh', reason: 'hidden' },
    ],
    [
      'consent: a pending gate comes before everything else',
      record(),
      page({ consent: 'pending', ...reading }),
      DUE,
      { action: 'refresh', reason: 'consent' },
    ],
    [
      'consent: a page with `provide` and no set would call it',
      bare(),
      page({ consent: 'refused', canProvide: true }),
      DUE,
      { action: 'provide', reason: 'consent' },
    ],
    ['storage: the record is being read', record(), page(reading), DUE, { action: 'refresh', reason: 'storage' }],
    ['storage: the record is being written', record(), page(writing), DUE, { action: 'refresh', reason: 'storage' }],
    ['page: there is no set and no `provide`', bare(), page(), DUE, { action: 'provide', reason: 'page' }],
    [
      'page: nobody is signed in',
      bare(),
      page({ canProvide: true, provideResult: 'nobody' }),
      DUE,
      { action: 'provide', reason: 'page' },
    ],
    [
      'woken: a page that woke up does not wait for its own pause either',
      record(),
      page({ notBefore: DUE + 500, wakeAttemptAt: DUE + 500 }),
      DUE,
      refreshAt(DUE + 500, 'woken'),
    ],
    [
      'back_off: the longer of two pauses counts',
      waiting({ refusals: 1, waitMs: 5_000 }),
      page({ notBefore: DUE + 7_000 }),
      DUE,
      refreshAt(DUE + 7_000, 'back_off'),
    ],
    [
      'back_off: of two pauses that end together, the one of the page is shown',
      waiting({ refusals: 1, waitMs: 5_001 }),
      page({ notBefore: DUE + 5_000 }),
      DUE,
      refreshAt(DUE + 5_000, 'back_off'),
    ],
    ['page: the user has opted out', bare({ optedOut: true }), page(), DUE, { action: 'provide', reason: 'page' }],
    ['a closed page has none', record(), page({ isClosed: true }), FRESH, undefined],
  ])('%s', (_, stored, given, now, expected) => {
    const { next } = decide(stored, given, now).state;
    expect(next).toEqual(expected);
    expect(next && 'at' in next).toBe(expected && 'at' in expected);
  });
});

describe('the attempt that starts now', () => {
  const spent = { retry: usedUp };
  test.each<Case<AttemptPlan | undefined>>([
    ['a fresh set is left alone', record(), page({ canProvide: true }), REFRESH_AT - 1, undefined],
    ['a set is refreshed from the instant at which it is due', record(), page(), REFRESH_AT, REFRESH],
    ['a stale set is refreshed', record(), page(), STALE, REFRESH],
    ['a set past its end by the local clock is still refreshed', record(), page(), ENDS_AT + DAY, REFRESH],
    ['a set that is held back behind a tombstone is refreshed', record({ optedOut: true }), page(), FRESH, REFRESH],
    ['a set that arrived after now is refreshed', record(), page(), ARRIVAL - HOUR, REFRESH],
    [
      'a set that is held back is refreshed even if there is a `provide`',
      record({ optedOut: true }),
      page({ canProvide: true }),
      FRESH,
      REFRESH,
    ],
    [
      '`provide` is called once both tokens have expired where the page may not refresh',
      record(),
      page({ canRefresh: false, canProvide: true }),
      ENDS_AT,
      { kind: 'provide', reason: 'ended', ignoresLock: false },
    ],
    [
      '`provide` is not called before that',
      record(),
      page({ canRefresh: false, canProvide: true }),
      ENDS_AT - 1,
      undefined,
    ],
    [
      '`provide` does not wait for the back-off of the set that has ended',
      record({ ended: true, retry: retry({ startedAt: DUE - 1, outages: 1, waitMs: HOUR }) }),
      page({ canProvide: true }),
      DUE,
      { kind: 'provide', reason: 'ended', ignoresLock: false },
    ],
    ['a page that may not refresh does nothing', record(), page({ canRefresh: false }), STALE, undefined],
    ['`provide` is called for an empty record', bare(), page({ canProvide: true }), FRESH, PROVIDE],
    [
      '`provide` is called for an ended set, even while its token is good',
      record({ ended: true }),
      page({ canProvide: true }),
      DUE,
      { kind: 'provide', reason: 'ended', ignoresLock: false },
    ],
    [
      '`provide` is called for a set that the service refused four times',
      record(spent),
      page({ canProvide: true }),
      DUE,
      { kind: 'provide', reason: 'refused', ignoresLock: false },
    ],
    ['a set refused four times is not sent again without `provide`', record(spent), page(), DUE, undefined],
    ['refusals of a day ago no longer count', record(spent), page(), REFRESH_AT + DAY, REFRESH],
    [
      '`provide` is not called while nobody is signed in',
      bare(),
      page({ canProvide: true, provideResult: 'nobody' }),
      DUE,
      undefined,
    ],
    [
      '`provide` is called again after a failure',
      bare(),
      page({ canProvide: true, provideResult: 'failed' }),
      DUE,
      PROVIDE,
    ],
    ['a hidden page starts nothing', record(), page({ hiddenAt: FRESH }), DUE, undefined],
    ['a hidden page that is asked for a token starts', record(), page({ hiddenAt: FRESH, callers: 1 }), DUE, REFRESH],
    ['a second attempt does not start', record(), page({ attempt: refreshing }), DUE, undefined],
    ['a void attempt is replaced', record({ generation: 2 }), page({ attempt: refreshing }), DUE, REFRESH],
    ['a page that waits for another tab starts nothing', record(), page({ otherTabUntil: DUE + 1 }), DUE, undefined],
    [
      'a page that has found the lock taken twice in a row ignores it',
      record(),
      page({ otherTabUntil: DUE, lockRefusals: 2 }),
      DUE,
      { ...REFRESH, ignoresLock: true },
    ],
    ['a page starts once its own pause is over', record(), page({ notBefore: DUE }), DUE, REFRESH],
    ['consent must be given', record(), page({ consent: 'pending' }), DUE, undefined],
    ['the store must be read', record(), page(reading), DUE, undefined],
    ['nothing may be in the middle of being written', record(), page(writing), DUE, undefined],
    ['a closed page starts nothing', record(), page({ isClosed: true }), DUE, undefined],
  ])('%s', (_, stored, given, now, expected) => {
    expect(decide(stored, given, now).attempt).toEqual(expected);
  });
});

describe('what the session waits for', () => {
  test.each<Case<SessionState['waitingFor']>>([
    ['nothing, with a good token', record(), page(), DUE, undefined],
    ['consent, first of all', record(), page({ consent: 'pending', ...reading }), DUE, 'consent'],
    ['consent, once it is refused', bare(), page({ consent: 'refused' }), DUE, 'consent'],
    ['storage, before the first read', record(), page(reading), DUE, 'storage'],
    ['a refresh that starts now', record(), page(), STALE, 'refresh'],
    ['a refresh in progress', record(), page({ attempt: refreshing }), STALE, 'refresh'],
    ['`provide` that is called now', bare(), page({ canProvide: true }), DUE, 'provide'],
    ['`provide` in progress', bare(), page({ canProvide: true, attempt: providing }), DUE, 'provide'],
    ['nothing that is under way, during a pause', record(), page({ notBefore: STALE + 1 }), STALE, undefined],
    ['nothing, where nobody can be asked', bare(), page(), DUE, undefined],
  ])('%s', (_, stored, given, now, expected) => {
    expect(decide(stored, given, now).state.waitingFor).toBe(expected);
  });
});

describe('whether a caller of getToken continues to wait', () => {
  test.each<Case<boolean>>([
    ['yes, until consent is answered', bare(), page({ consent: 'pending', ...reading }), DUE, true],
    ['no, once consent is refused', bare(), page({ consent: 'refused' }), DUE, false],
    ['yes, until the store is read', bare(), page(reading), DUE, true],
    ['yes, until the write has ended', record(), page(writing), DUE, true],
    ['yes, while an attempt starts', record(), page(), STALE, true],
    ['yes, while an attempt runs', record(), page({ attempt: refreshing }), STALE, true],
    [
      'yes, while a page that woke up is about to try',
      record(),
      page({ notBefore: STALE + 500, wakeAttemptAt: STALE + 500 }),
      STALE,
      true,
    ],
    ['yes, while another tab refreshes', record(), page({ otherTabUntil: STALE + 1 }), STALE, true],
    ['no, during a back-off', record(), page({ notBefore: STALE + 1 }), STALE, false],
    [
      'no, if the attempt in progress is void and none follows',
      bare({ generation: 2 }),
      page({ attempt: refreshing }),
      DUE,
      false,
    ],
    ['no, if nobody can be asked', bare(), page(), DUE, false],
    ['no, on a closed page', record(), page({ isClosed: true, ...reading }), DUE, false],
  ])('%s', (_, stored, given, now, expected) => {
    expect(decide(stored, given, now).isTokenExpected).toBe(expected);
  });
});

describe('when to decide again', () => {
  const waiting = (waitMs: number) => record({ retry: retry({ startedAt: DUE, outages: 1, waitMs }) });
  test.each<Case<number>>([
    ['when a fresh set is due', record(), page(), FRESH, REFRESH_AT],
    ['when the token expires, during an attempt', record(), page(), DUE, EXPIRES_AT],
    ['when the token expires, on a hidden page', record(), page({ hiddenAt: FRESH }), DUE, EXPIRES_AT],
    ['when the pause is over', waiting(MINUTE), page(), DUE, DUE + MINUTE],
    ['when the token expires, before the end of the pause', waiting(HOUR), page(), DUE, EXPIRES_AT],
    ['when the wait for another tab is over', record(), page({ otherTabUntil: DUE + 7 }), DUE, DUE + 7],
    [
      'when the wait for another tab is over, with a fresh set',
      record(),
      page({ otherTabUntil: FRESH + 7 }),
      FRESH,
      FRESH + 7,
    ],
    ['not for a wait that is over, with a fresh set', record(), page({ otherTabUntil: FRESH }), FRESH, REFRESH_AT],
    ['in local time, earlier by the clock offset', record({ offsetMs: MINUTE }), page(), FRESH, REFRESH_AT - MINUTE],
    ['only after a change, for a stale set in a hidden page', record(), page({ hiddenAt: FRESH }), STALE, NEVER],
    ['when the refresh token ends, where the host refreshes', record(), page({ canRefresh: false }), STALE, ENDS_AT],
    [
      'when the refresh token ends, in local time',
      record({ offsetMs: MINUTE }),
      page({ canRefresh: false }),
      STALE,
      ENDS_AT - MINUTE,
    ],
    ['only after a change, once that has ended', record(), page({ canRefresh: false }), ENDS_AT, NEVER],
    ['only after a change, long after that has ended', record(), page({ canRefresh: false }), ENDS_AT + DAY, NEVER],
    [
      'only after a change, for a stale set in a hidden page that was not refused',
      record({ retry: retry({ startedAt: DUE, outages: 1 }) }),
      page({ hiddenAt: FRESH }),
      STALE,
      NEVER,
    ],
    ['only after a change, for an empty record', bare(), page(), FRESH, NEVER],
    ['only after a change, behind a tombstone', bare({ optedOut: true }), page(), FRESH, NEVER],
    ['only after a change, while the record is written', record(), page(writing), FRESH, NEVER],
    ['only after a change, without consent', bare(), page({ consent: 'refused' }), FRESH, NEVER],
    ['never again, once the page is closed', record(), page({ isClosed: true }), FRESH, NEVER],
  ])('%s', (_, stored, given, now, expected) => {
    expect(decide(stored, given, now).wakeAt).toBe(expected);
  });

  // Fault: time alone changes the decision at these instants, but `wakeAt` is `Infinity`, so nothing happens until the page
  // is hidden and shown, or another event occurs.
  test.each<Case<number>>([
    [
      'when refusals no longer count, a day after the last attempt',
      record({ retry: usedUp }),
      page(),
      STALE,
      REFRESH_AT + DAY,
    ],
    [
      'when a clock that was set back has reached the arrival of the set again',
      record(),
      page({ canRefresh: false }),
      ARRIVAL - HOUR,
      ARRIVAL - 5_000,
    ],
  ])('%s', (_, stored, given, now, expected) => {
    expect(decide(stored, given, now).wakeAt).toBe(expected);
  });
});

describe('the attempt in progress', () => {
  test.each<Case<boolean>>([
    ['goes on while the generation is the same', record(), page({ attempt: refreshing }), DUE, false],
    [
      'goes on when another tab has refreshed the set',
      record({ set: setOf(2) }),
      page({ attempt: refreshing }),
      DUE,
      false,
    ],
    ['is void after a logout', bare({ generation: 2, clearedAt: DUE }), page({ attempt: refreshing }), DUE, true],
    ['is void after another user signed in', record({ generation: 2 }), page({ attempt: refreshing }), DUE, true],
    [
      'is void after a logout, even before the write has ended',
      bare({ generation: 2 }),
      page({ attempt: refreshing, ...writing }),
      DUE,
      true,
    ],
    ['cannot be void if there is none', record({ generation: 2 }), page(), DUE, false],
  ])('%s', (_, stored, given, now, expected) => {
    const decision = decide(stored, given, now);
    expect(decision.isAttemptVoid).toBe(expected);
    expect(decision.page.attempt).toBe(expected ? undefined : given.attempt);
  });
});

describe('the resulting page state', () => {
  test.each<Case<Partial<PageState>>>([
    [
      'forgets its attempts with a fresh set',
      record(),
      page({ fruitlessAttempts: 4, notBefore: DUE }),
      FRESH,
      { fruitlessAttempts: 0, notBefore: 0 },
    ],
    [
      'remembers its attempts with a due set',
      record(),
      page({ fruitlessAttempts: 4, notBefore: STALE }),
      DUE,
      { fruitlessAttempts: 4, notBefore: STALE },
    ],
    [
      'remembers its attempts while a fresh set is being written',
      record(),
      page({ fruitlessAttempts: 4, notBefore: DUE, ...writing }),
      FRESH,
      { fruitlessAttempts: 4, notBefore: DUE },
    ],
  ])('%s', (_, stored, given, now, expected) => {
    expect(decide(stored, given, now).page).toMatchObject(expected);
  });
});

describe('the public state', () => {
  const error = failure(503);
  test.each<Case<Partial<SessionState>>>([
    [
      'shows a fresh phase and its instants',
      record(),
      page(),
      FRESH,
      { phase: 'fresh', refreshAt: REFRESH_AT, expiresAt: EXPIRES_AT, endsAt: ENDS_AT },
    ],
    ['shows a due phase', record(), page(), DUE, { phase: 'due' }],
    ['shows a stale phase', record(), page(), STALE, { phase: 'stale' }],
    ['does not end a set by the local clock alone', record(), page(), ENDS_AT + DAY, { phase: 'stale' }],
    ['shows an ended phase', record({ ended: true }), page(), STALE, { phase: 'ended' }],
    [
      'shows an opt-out before everything else',
      record({ optedOut: true, ended: true }),
      page(),
      FRESH,
      { phase: 'optedOut' },
    ],
    ['is empty before the store is read', record(), page(reading), FRESH, { phase: 'empty', refreshAt: undefined }],
    ['shows where the record is kept', bare(), page({ persistence: 'indexeddb' }), FRESH, { persistence: 'indexeddb' }],
    ['shows the last failure', record(), page({ lastError: error }), DUE, { lastError: error }],
    ['shows a clock offset', record({ offsetMs: -HOUR }), page(), DUE, { clockOffsetMs: -HOUR }],
    ['shows no clock offset where the clock is right', record(), page(), DUE, { clockOffsetMs: undefined }],
  ])('%s', (_, stored, given, now, expected) => {
    const { state } = decide(stored, given, now);
    expect(state).toMatchObject(expected);
    expect(JSON.stringify(state)).not.toMatch(/advertising-|refresh-token/);
  });

  const state = decide(record(), page(), FRESH).state;
  test.each<readonly [sentence: string, one: SessionState, other: SessionState, expected: boolean]>([
    ['is the same where all members are', state, { ...state, next: { ...state.next! } }, true],
    ['differs by one member', state, { ...state, persistence: 'indexeddb' }, false],
    ['differs by the instant of the next step', state, { ...state, next: { ...state.next!, at: 1 } }, false],
    ['differs by the reason of the next step', state, { ...state, next: { ...state.next!, reason: 'budget' } }, false],
    ['differs once there is no next step', state, { ...state, next: undefined }, false],
    [
      'differs by another error with the same words',
      { ...state, lastError: failure(503) },
      { ...state, lastError: failure(503) },
      false,
    ],
    ['is the same with the same error', { ...state, lastError: error }, { ...state, lastError: error }, true],
  ])('%s', (_, one, other, expected) => {
    expect(isSameState(one, other)).toBe(expected);
    expect(isSameState(other, one)).toBe(expected);
  });
});

describe('an explicit refresh', () => {
  const EXPLICIT: AttemptPlan = { kind: 'refresh', isExplicit: true, ignoresLock: false };
  test.each<Case<AttemptPlan | undefined>>([
    ['refreshes a fresh set', record(), page(), FRESH, EXPLICIT],
    ['refreshes a stale set', record(), page(), STALE, EXPLICIT],
    ['refreshes a set that the service refused four times', record({ retry: usedUp }), page(), DUE, EXPLICIT],
    ['refreshes a set behind a tombstone', record({ optedOut: true }), page(), DUE, EXPLICIT],
    [
      'ignores a lock that was taken twice in a row',
      record(),
      page({ otherTabUntil: DUE, lockRefusals: 2 }),
      DUE,
      { ...EXPLICIT, ignoresLock: true },
    ],
    [
      'respects a lock while it waits for another tab',
      record(),
      page({ otherTabUntil: DUE + 1, lockRefusals: 2 }),
      DUE,
      EXPLICIT,
    ],
    ['calls `provide` for an empty record', bare(), page({ canProvide: true }), DUE, PROVIDE],
    [
      'calls `provide` for an ended set',
      record({ ended: true }),
      page({ canProvide: true }),
      DUE,
      { kind: 'provide', reason: 'ended', ignoresLock: false },
    ],
    [
      'calls `provide` where the page may not refresh',
      record(),
      page({ canRefresh: false, canProvide: true }),
      DUE,
      PROVIDE,
    ],
    ['attempts nothing for an empty record without `provide`', bare(), page(), DUE, undefined],
    ['attempts nothing for an ended set without `provide`', record({ ended: true }), page(), DUE, undefined],
    ['attempts nothing where the page may do neither', record(), page({ canRefresh: false }), DUE, undefined],
  ])('%s', (_, stored, given, now, expected) => {
    expect(explicitPlan(stored, given, now)).toEqual(expected);
  });

  // Fault: the plan is a refresh, although there is no set to send. The attempt takes the lock and ends as superseded.
  test('attempts nothing after an opt-out that left no set', () => {
    expect(explicitPlan(bare({ optedOut: true }), page(), DUE)).toBeUndefined();
  });
});
