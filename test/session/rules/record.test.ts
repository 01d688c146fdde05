/** The transitions of the record, as tables: the record before, the transition, and the record after. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRecord } from '../../../src/session/rules/parse-record.ts';
import {
  clockSetBack,
  emptyRecord,
  erased,
  isSameSet,
  loggedOut,
  optedOut,
  renderedWithPage,
  type SessionRecord,
  serviceTime,
  setByHost,
  setByProvide,
  setByRefreshingHost,
  type Transition,
} from '../../../src/session/rules/record.ts';
import {
  type Claim,
  type ClaimOptions,
  claimRefresh,
  type RefreshResult,
  refreshAnswered,
  refreshFailed,
} from '../../../src/session/rules/refresh.ts';
import { tokenAt } from '../../../src/token/phase.ts';
import { runsOf } from '../../support/properties.ts';
import {
  ARRIVAL,
  BACK_OFF,
  BASE_URL,
  bare,
  DAY,
  DUE,
  deepFreeze,
  EXPIRES_AT,
  FRESH,
  failure,
  fingerprintOf,
  HOUR,
  instants,
  MINUTE,
  REFRESH_AT,
  record,
  records,
  retry,
  SECOND,
  STALE,
  setOf,
  sets,
} from './fixtures.ts';

const SET_2 = setOf(2, DUE);
const ran = retry({ attempts: 3, refusals: 2, waitMs: MINUTE });
/** The record while its set is being refreshed, since {@link DUE}. */
const sent = record({ retry: retry({ startedAt: DUE, isRunning: true }) });
const ANSWERED = DUE + 2 * SECOND;

/** A sentence, the record before, the transition, and the whole record after it; `unchanged`: the same object. */
type Row = readonly [
  sentence: string,
  before: SessionRecord,
  transition: Transition,
  after: SessionRecord | 'unchanged',
];

function check(before: SessionRecord, transition: Transition, after: SessionRecord | 'unchanged'): void {
  const found = transition(deepFreeze(before));
  if (after === 'unchanged') expect(found).toBe(before);
  else expect(found).toEqual(after);
}

const full = record({
  optedOut: true,
  ended: true,
  offsetMs: 7,
  fingerprints: [fingerprintOf(1)],
  clearedAt: 5,
  retry: ran,
});

describe('an erasure', () => {
  test.each<Row>([
    [
      'leaves nothing of the user but the tombstone, and the clock',
      full,
      erased,
      bare({ generation: 2, optedOut: true, offsetMs: 7 }),
    ],
    ['counts a generation on an empty record', emptyRecord(BASE_URL), erased, bare({ generation: 1 })],
    [
      'by logout remembers when, and the fingerprints',
      record({ fingerprints: [fingerprintOf(1)], retry: ran, offsetMs: 7 }),
      loggedOut(DUE),
      bare({ generation: 2, fingerprints: [fingerprintOf(1)], clearedAt: DUE, offsetMs: 7 }),
    ],
    [
      'by logout with `forget` drops the fingerprints',
      record({ fingerprints: [fingerprintOf(1)] }),
      loggedOut(DUE, true),
      bare({ generation: 2, clearedAt: DUE }),
    ],
    [
      'by logout keeps the tombstone',
      record({ optedOut: true }),
      loggedOut(DUE),
      bare({ generation: 2, optedOut: true, clearedAt: DUE }),
    ],
    [
      'by logout counts again on a record that is logged out',
      bare({ clearedAt: 5 }),
      loggedOut(DUE),
      bare({ generation: 2, clearedAt: DUE }),
    ],
    [
      'by opt-out leaves a tombstone and no fingerprint',
      record({ fingerprints: [fingerprintOf(1)], retry: ran }),
      optedOut(DUE),
      bare({ generation: 2, optedOut: true, clearedAt: DUE }),
    ],
  ])('%s', (_, before, transition, after) => check(before, transition, after));
});

describe('a set of the host', () => {
  const prints = (...numbers: number[]) => numbers.map(fingerprintOf);
  const supplied = (change: Partial<SessionRecord> = {}) =>
    record({ generation: 2, set: SET_2, receivedAt: DUE, fingerprints: prints(2), ...change });
  test.each<Row>([
    ['is the first', emptyRecord(BASE_URL), setByHost(SET_2, DUE), supplied({ generation: 1 })],
    [
      'replaces the set with its end, its attempts and its logout',
      record({ ended: true, retry: ran, clearedAt: 5 }),
      setByHost(SET_2, DUE),
      supplied(),
    ],
    ['keeps the clock offset', record({ offsetMs: 7 }), setByHost(SET_2, DUE), supplied({ offsetMs: 7 })],
    [
      'is held back behind a tombstone',
      bare({ optedOut: true, clearedAt: 5 }),
      setByHost(SET_2, DUE),
      supplied({ optedOut: true }),
    ],
    [
      'behind a tombstone counts the attempts with the set before, but no refusals',
      bare({ optedOut: true, retry: { ...ran, attempts: 3, refusals: 4 } }),
      setByHost(SET_2, DUE),
      supplied({ optedOut: true, retry: { ...ran, attempts: 3, refusals: 0 } }),
    ],
    [
      'that speaks for the service lifts the tombstone',
      bare({ optedOut: true, clearedAt: 5 }),
      setByRefreshingHost(SET_2, DUE),
      supplied(),
    ],
    [
      'that speaks for the service is the first',
      emptyRecord(BASE_URL),
      setByRefreshingHost(SET_2, DUE),
      supplied({ generation: 1 }),
    ],
    ['counts a generation even if it is the same set', supplied(), setByHost(SET_2, DUE), supplied({ generation: 3 })],
    ['that the service has ended changes nothing', record({ ended: true }), setByHost(setOf(1), DUE), 'unchanged'],
    [
      'that the service has ended, but for another user, belongs to that user',
      record({ ended: true, user: 'a' }),
      setByHost(setOf(1), DUE, 'b'),
      supplied({ set: setOf(1), fingerprints: prints(1), user: 'b', generation: 2 }),
    ],
    [
      'that shares tokens with one that has ended, but lasts longer, replaces it',
      supplied({ ended: true, set: { ...SET_2, expiresAt: SET_2.expiresAt - 1 } }),
      setByHost(SET_2, DUE),
      supplied({ generation: 3 }),
    ],
    [
      'moves its fingerprint to the front',
      record({ fingerprints: prints(1, 2, 3) }),
      setByHost(SET_2, DUE),
      supplied({ fingerprints: prints(2, 1, 3) }),
    ],
    [
      'drops the 33rd fingerprint',
      record({ fingerprints: Array.from({ length: 32 }, (_, n) => fingerprintOf(n + 10)) }),
      setByHost(SET_2, DUE),
      supplied({ fingerprints: prints(2, ...Array.from({ length: 31 }, (_, n) => n + 10)) }),
    ],
    [
      'by `provide` keeps the attempts, and forgets the refusals',
      record({ retry: ran }),
      setByProvide(record({ retry: ran }))(SET_2, DUE),
      supplied({ retry: { ...ran, refusals: 0 } }),
    ],
    [
      'by `provide` that the service has ended changes nothing, not even the attempts',
      record({ ended: true, retry: ran }),
      setByProvide(record({ ended: true, retry: ran }))(setOf(1), DUE),
      'unchanged',
    ],
    ['by `provide` without earlier attempts counts none', bare(), setByProvide(bare())(SET_2, DUE), supplied()],
    ['by `provide` is late after a logout', bare({ generation: 2 }), setByProvide(record())(SET_2, DUE), 'unchanged'],
    [
      'by `provide` is late after a refresh in another tab',
      record({ set: setOf(3) }),
      setByProvide(record())(SET_2, DUE),
      'unchanged',
    ],
    [
      'rendered with the page is taken where nothing is stored',
      emptyRecord(BASE_URL),
      renderedWithPage(SET_2, DUE),
      supplied({ generation: 1 }),
    ],
    ['rendered with the page replaces another one', record(), renderedWithPage(SET_2, DUE), supplied()],
    [
      'rendered with the page changes nothing if it was supplied before, even several sets ago',
      record({ fingerprints: prints(3, 2) }),
      renderedWithPage(SET_2, DUE),
      'unchanged',
    ],
    [
      'rendered with the page does not undo a logout of the last 30 days',
      bare({ fingerprints: prints(2), clearedAt: DUE - 30 * DAY + 1 }),
      renderedWithPage(SET_2, DUE),
      'unchanged',
    ],
    [
      'rendered with the page is taken 30 days after its logout',
      bare({ fingerprints: prints(2), clearedAt: DUE - 30 * DAY }),
      renderedWithPage(SET_2, DUE),
      supplied(),
    ],
    [
      'rendered with the page is taken after a logout of another set',
      bare({ fingerprints: prints(1), clearedAt: DUE - 1 }),
      renderedWithPage(SET_2, DUE),
      supplied({ fingerprints: prints(2, 1) }),
    ],
    [
      'rendered with the page is held back behind a tombstone',
      bare({ optedOut: true }),
      renderedWithPage(SET_2, DUE),
      supplied({ optedOut: true }),
    ],
  ])('%s', (_, before, transition, after) => check(before, transition, after));
});

describe('the same set', () => {
  test.each<readonly [sentence: string, one: SessionRecord, other: SessionRecord, expected: boolean]>([
    ['is identified by generation and refresh token', record(), record({ retry: ran, ended: true, offsetMs: 7 }), true],
    ['is another one after a refresh', record(), record({ set: setOf(2) }), false],
    ['is another one if the host supplied it again', record(), record({ generation: 2 }), false],
    [
      'is another one if a refresh kept its refresh token',
      record(),
      record({ set: { ...setOf(1), advertisingToken: 'advertising-2' } }),
      false,
    ],
    [
      'is another one if a refresh kept its advertising token',
      record(),
      record({ set: { ...setOf(1), refreshToken: setOf(2).refreshToken } }),
      false,
    ],
    ['is absent from both of two empty records of one generation', bare(), bare({ optedOut: true }), true],
  ])('%s', (_, one, other, expected) => {
    expect(isSameSet(one, other)).toBe(expected);
    expect(isSameSet(other, one)).toBe(expected);
  });
});

describe('the answer of the service', () => {
  const { retry: _, ...idle } = sent;
  const answered = (result: RefreshResult) => refreshAnswered(sent, result, undefined, ANSWERED);
  const after = { ...idle, set: SET_2, receivedAt: ANSWERED };
  test.each<Row>([
    ['with a set replaces the set, and ends the attempts', sent, answered(SET_2), after],
    [
      'with a set keeps fingerprints and generation',
      { ...sent, fingerprints: ['a'] },
      answered(SET_2),
      { ...after, fingerprints: ['a'] },
    ],
    ['with a set lifts the tombstone', { ...sent, optedOut: true }, answered(SET_2), after],
    [
      'with an opt-out erases the set',
      sent,
      answered('optout'),
      bare({ generation: 2, optedOut: true, clearedAt: ANSWERED }),
    ],
    [
      'with the end of the refresh token keeps set and attempts',
      { ...sent, retry: ran },
      answered('ended'),
      { ...idle, retry: ran, ended: true },
    ],
    [
      'with the end of a set behind a tombstone drops the set, and keeps the attempts',
      { ...sent, optedOut: true },
      answered('ended'),
      { ...idle, set: undefined, optedOut: true, retry: { ...sent.retry!, isRunning: false } },
    ],
    [
      'with an opt-out behind a tombstone keeps the attempts',
      { ...sent, optedOut: true },
      answered('optout'),
      bare({ generation: 2, optedOut: true, clearedAt: ANSWERED, retry: { ...sent.retry!, isRunning: false } }),
    ],
    ['is late after a logout', bare({ generation: 2 }), answered(SET_2), 'unchanged'],
    ['is late after a set of the host', { ...sent, generation: 2 }, answered(SET_2), 'unchanged'],
    ['is late after another tab refreshed', { ...sent, set: setOf(3) }, answered(SET_2), 'unchanged'],
    ['does not end a newer set of another tab', { ...sent, set: setOf(3) }, answered('ended'), 'unchanged'],
    ['does not opt out a user who signed in since', { ...sent, generation: 2 }, answered('optout'), 'unchanged'],
  ])('%s', (_, before, transition, expected) => check(before, transition, expected));

  // Fault: `ended` stays on the new set, so the session treats it as finished: it calls `provide` or emits `needsTokens`,
  // and never refreshes the new set. It takes two tabs, whose attempts with one refresh token end differently.
  test('with a set lifts an end that another tab recorded', () => {
    expect(answered(SET_2)({ ...sent, ended: true })).toEqual(after);
  });

  // Fault: the attempt is over, but the record still says that it runs. `setByProvide` carries this on to the next set,
  // which no tab without the lock may refresh until the lease is over.
  test('with the end of the refresh token releases the lease', () => {
    expect(answered('ended')(sent).retry?.isRunning).toBe(false);
  });

  // Fault: a new object with the same content, so the session writes it and notifies the other tabs for nothing.
  test('with the end of a set that has ended changes nothing', () => {
    check({ ...sent, ended: true }, answered('ended'), 'unchanged');
  });
});

describe('the clock, on arrival of a refreshed set', () => {
  /** The set arrives 2 s after the question, issued by a service whose clock is `serviceMs` ahead of the local one. */
  const arrival = (serviceMs: number, dateMs: number | undefined, known = 0, issued = SET_2) => {
    const set = { ...issued, refreshAt: issued.refreshAt + serviceMs, expiresAt: issued.expiresAt + serviceMs };
    const found = refreshAnswered(sent, set, dateMs, ANSWERED)({ ...sent, offsetMs: known });
    return { offsetMs: found.offsetMs, refreshAfterMs: found.set!.refreshAt - set.refreshAt };
  };
  const brief = { ...SET_2, refreshAt: DUE + SECOND, expiresAt: DUE + 11 * SECOND };
  test.each<
    readonly [
      sentence: string,
      serviceMs: number,
      dateMs: number | undefined,
      known: number,
      offsetMs: number,
      refreshAfterMs: number,
    ]
  >([
    ['agrees where Date is between question and answer', 0, DUE + SECOND, 0, 0, 0],
    ['agrees where Date is 4.999 s before the question', 0, DUE - 4_999, 0, 0, 0],
    ['agrees where Date is 4.999 s after the answer', 0, ANSWERED + 4_999, 0, 0, 0],
    ['is behind by an hour: the offset is taken from the question', HOUR, DUE + HOUR + SECOND, 0, HOUR + SECOND, 0],
    ['is 5 s behind: the offset counts', 0, ANSWERED + 5_000, 0, 7_000, 0],
    ['is 5 s behind the question and the set is fresh: a stale Date does not count', 0, DUE - 5_000, 0, 0, 0],
    ['is ahead by an hour: the offset is taken from the question', -HOUR, DUE - HOUR + SECOND, 0, -HOUR + SECOND, 0],
    ['forgets a known offset where Date is right', 0, DUE + SECOND, HOUR, 0, 0],
    ['keeps the known offset where Date is missing', HOUR, undefined, HOUR, HOUR, 0],
    ['is not corrected where Date is missing and the set is fresh', 0, undefined, 0, 0, 0],
    ['is not corrected where it is behind and Date is missing', HOUR, undefined, 0, 0, 0],
    // Asked an hour after `refreshAt`: service time at the question was `refreshAt` at most. Refresh half-way to the expiry.
    [
      'is ahead, and Date is missing: the arrival counts as refreshAt',
      -75 * MINUTE,
      undefined,
      0,
      -HOUR,
      22.5 * MINUTE,
    ],
    [
      'is slightly ahead: a set nearly due is put off, without an offset',
      -14.5 * MINUTE,
      undefined,
      0,
      0,
      22.5 * MINUTE,
    ],
    ['is slightly ahead: a set due in a minute is left alone', -14 * MINUTE, undefined, 0, 0, 0],
  ])('%s', (_, serviceMs, dateMs, known, offsetMs, refreshAfterMs) => {
    expect(arrival(serviceMs, dateMs, known)).toEqual({ offsetMs, refreshAfterMs });
  });

  test('a set with a life of 10 s that is due a second after the question is left alone', () => {
    expect(arrival(0, undefined, 0, brief)).toEqual({ offsetMs: 0, refreshAfterMs: 0 });
  });

  test('the start of the attempt is taken from the record that was sent if the stored one has lost it', () => {
    const { retry: _, ...lost } = sent;
    expect(refreshAnswered(sent, SET_2, DUE + SECOND, ANSWERED)(lost)).toMatchObject({ offsetMs: 0 });
  });

  // Fault: Date shows that the local clock is right, but the set that is due on arrival counts for more. The service seems to
  // be 50 minutes behind, so the token is given out for 50 minutes beyond its expiry.
  test('a set that is due on arrival does not shift a clock that Date confirms', () => {
    const old = { ...SET_2, refreshAt: DUE - 50 * MINUTE, expiresAt: DUE + 10 * MINUTE };
    const found = refreshAnswered(sent, old, DUE + SECOND, ANSWERED)(sent);
    expect(tokenAt(found, serviceTime(found, old.expiresAt))).toBeUndefined();
  });

  // Fault: the attempts are forgotten, so a service that answers with expired sets is asked again at once, without end.
  type Arrival = readonly [
    expiresAt: number,
    dateMs: number | undefined,
    offsetMs: number,
    attempts: number | undefined,
  ];
  test.each<readonly [sentence: string, ...Arrival]>([
    ['a set that has expired on arrival keeps the attempts', ANSWERED - 1, ANSWERED, 0, 1],
    ['so does one that expires as it arrives', ANSWERED, ANSWERED, 0, 1],
    ['a set with a millisecond left does not', ANSWERED + 1, ANSWERED, 0, undefined],
    ["a set that has expired by the service's clock keeps them", ANSWERED + HOUR, undefined, HOUR, 1],
    ['one with a millisecond left by that clock does not', ANSWERED + HOUR + 1, undefined, HOUR, undefined],
  ])('%s', (_, expiresAt, dateMs, offsetMs, attempts) => {
    const brief = { ...SET_2, refreshAt: Math.min(expiresAt, DUE + offsetMs), expiresAt };
    const found = refreshAnswered(sent, brief, dateMs, ANSWERED)({ ...sent, offsetMs });
    expect(found.retry?.attempts).toBe(attempts);
    expect(found.retry?.isRunning).not.toBe(true);
  });

  // Fault: the start of another tab's later attempt with the same token is taken for this question. The service seems to be
  // 11 s behind, so a token is given out for 11 s beyond its expiry.
  test('a later attempt of another tab does not shift the clock', () => {
    const other = record({ retry: retry({ attempts: 2, startedAt: DUE + 12 * SECOND, isRunning: true }) });
    const { offsetMs } = refreshAnswered(sent, SET_2, DUE + SECOND, DUE + 13 * SECOND)(other);
    expect(offsetMs).toBe(0);
  });
});

describe('the time of the service', () => {
  test.each<readonly [sentence: string, record: SessionRecord, now: number, expected: number]>([
    ['is the local time where no offset is known', record(), FRESH, FRESH],
    ['is later by the offset', record({ offsetMs: HOUR }), FRESH, FRESH + HOUR],
    ['is earlier by the offset', record({ offsetMs: -HOUR }), FRESH, FRESH - HOUR],
    ['is the local time without a set', emptyRecord(BASE_URL), 5, 5],
    ['tolerates 5 s before the arrival of the set', record(), ARRIVAL - 5_000, ARRIVAL - 5_000],
    ['is unknown further before the arrival of the set', record(), ARRIVAL - 5_001, Number.POSITIVE_INFINITY],
  ])('%s', (_, given, now, expected) => {
    expect(serviceTime(given, now)).toBe(expected);
  });
});

describe('a clock that was set back by an hour', () => {
  test.each<Row>([
    [
      'shifts the offset, the arrival and the last attempt',
      record({ retry: ran, offsetMs: MINUTE, clearedAt: 5 }),
      clockSetBack(record({ offsetMs: MINUTE }), HOUR),
      record({
        offsetMs: HOUR + MINUTE,
        receivedAt: ARRIVAL - HOUR,
        clearedAt: 5,
        retry: { ...ran, startedAt: ran.startedAt - HOUR },
      }),
    ],
    [
      'shifts a record without attempts',
      record(),
      clockSetBack(record(), HOUR),
      record({ offsetMs: HOUR, receivedAt: ARRIVAL - HOUR }),
    ],
    [
      'is corrected by the first tab alone',
      record({ receivedAt: ARRIVAL - HOUR }),
      clockSetBack(record(), HOUR),
      'unchanged',
    ],
    [
      'is corrected for a set whose time of arrival is lost',
      record({ receivedAt: undefined }),
      clockSetBack(record({ receivedAt: undefined }), HOUR),
      record({ offsetMs: HOUR, receivedAt: 0 }),
    ],
    [
      'is corrected by the first tab alone even for such a set',
      record({ offsetMs: HOUR, receivedAt: 0 }),
      clockSetBack(record({ receivedAt: undefined }), HOUR),
      'unchanged',
    ],
    [
      'is not corrected for a set that arrived since',
      record({ set: SET_2, receivedAt: DUE }),
      clockSetBack(record(), HOUR),
      'unchanged',
    ],
  ])('%s', (_, before, transition, after) => check(before, transition, after));

  test('leaves the time of the service as it was', () => {
    const before = record({ offsetMs: MINUTE });
    expect(serviceTime(clockSetBack(before, HOUR)(before), DUE - HOUR)).toBe(serviceTime(before, DUE));
  });
});

describe('the claim of a refresh', () => {
  const LOCK: ClaimOptions = { hasLock: true, isExplicit: false, leaseMs: 12_000, wakeAttemptAt: 0 };
  const LEASE: ClaimOptions = { ...LOCK, hasLock: false };
  const running = record({ retry: retry({ startedAt: DUE - 2 * SECOND, isRunning: true }) });
  const paused = record({ retry: retry({ startedAt: DUE - SECOND, waitMs: MINUTE, outages: 1 }) });
  const slept = record({ retry: retry({ startedAt: DUE - MINUTE, waitMs: HOUR, outages: 9 }) });
  const spaced = record({ retry: retry({ startedAt: DUE - SECOND, attempts: 5 }) });
  test.each<
    readonly [
      sentence: string,
      record: SessionRecord,
      before: SessionRecord,
      options: ClaimOptions,
      outcome: 'claimed' | Extract<Claim, string>,
    ]
  >([
    ['succeeds without earlier attempts', record(), record(), LOCK, 'claimed'],
    ['succeeds without the lock', record(), record(), LEASE, 'claimed'],
    ['leaves the lease to another tab', running, record(), LEASE, 'other_tab'],
    [
      'leaves the lease to another tab where the page asked',
      running,
      record(),
      { ...LEASE, isExplicit: true },
      'other_tab',
    ],
    ['takes the lease of a tab that is gone: the lock is free', running, record(), LOCK, 'claimed'],
    [
      'takes a lease that is over',
      { ...running, retry: { ...running.retry!, leaseMs: 2 * SECOND } },
      record(),
      LEASE,
      'claimed',
    ],
    [
      'leaves the lease to a tab with a longer time limit',
      running,
      record(),
      { ...LEASE, leaseMs: 2 * SECOND },
      'other_tab',
    ],
    ['waits for the lease of a tab that sends a newer set', { ...running, set: SET_2 }, record(), LEASE, 'other_tab'],
    ['is superseded by a refresh of another tab', record({ set: SET_2 }), record(), LOCK, 'superseded'],
    ['is superseded by a logout', bare({ generation: 2 }), record(), LOCK, 'superseded'],
    ['is superseded by a set of the host', record({ generation: 2 }), record(), LOCK, 'superseded'],
    ['is superseded where there is no set', bare(), bare(), LOCK, 'superseded'],
    ['is too early after the failure of another tab', paused, record(), LOCK, 'superseded'],
    ['is not too early where the page asked', paused, record(), { ...LOCK, isExplicit: true }, 'claimed'],
    [
      'is too early for the budget even where the page asked',
      spaced,
      record(),
      { ...LOCK, isExplicit: true },
      'superseded',
    ],
    ['is not too early in a page that woke up since', slept, record(), { ...LOCK, wakeAttemptAt: DUE }, 'claimed'],
    ['is too early in a page that tries later', slept, record(), { ...LOCK, wakeAttemptAt: DUE + 1 }, 'superseded'],
    [
      'ignores retry state of a day ago',
      record({ retry: retry({ startedAt: DUE - DAY, waitMs: 2 * DAY }) }),
      record(),
      LOCK,
      'claimed',
    ],
  ])('%s', (_, stored, before, options, outcome) => {
    const claim = claimRefresh(deepFreeze(stored), before, options, DUE);
    expect(typeof claim === 'string' ? claim : 'claimed').toBe(outcome);
    if (typeof claim === 'string') return;
    expect(claim).toEqual({ ...stored, retry: claim.retry });
    expect(claim.retry).toMatchObject({ startedAt: DUE, isRunning: true, waitMs: 0 });
  });

  test('counts the attempt', () => {
    const claim = claimRefresh(running, running, LOCK, DUE);
    expect(claim).toMatchObject({ retry: { attempts: 2 } });
  });

  test('counts from one again if the retry state is a day old', () => {
    const old = record({ retry: retry({ attempts: 9, refusals: 4, startedAt: DUE - DAY }) });
    expect(claimRefresh(old, old, LOCK, DUE)).toMatchObject({ retry: { attempts: 1, refusals: 0 } });
  });

  // Fault: a tab that obtains the lock before it has read the end sends the refused token once more.
  test('is superseded if another tab recorded the end of the set', () => {
    expect(claimRefresh({ ...sent, ended: true }, record(), LOCK, ANSWERED)).toBe('superseded');
  });

  // Fault: the fourth refusal sets no pause, so a tab that has not read it makes a fifth attempt.
  test('is superseded if another tab was refused for the fourth time', () => {
    const refused = record({ retry: retry({ refusals: 4, waitMs: SECOND }) });
    expect(claimRefresh(refused, record(), LOCK, DUE)).toBe('superseded');
  });
});

describe('the failure of a refresh', () => {
  const failed = refreshFailed(sent, failure(400), BACK_OFF, ANSWERED, 0);
  const waiting = { ...sent.retry!, isRunning: false, refusals: 1, waitMs: 2_000 + 30_000 };
  test.each<Row>([
    ['is noted for all tabs', sent, failed, { ...sent, retry: waiting }],
    [
      'ends only the lease if the attempt was given up',
      sent,
      refreshFailed(sent, undefined, BACK_OFF, ANSWERED, 0),
      { ...sent, retry: { ...sent.retry!, isRunning: false } },
    ],
    ['is late after another tab refreshed', { ...sent, set: SET_2 }, failed, 'unchanged'],
    ['is late after a logout', bare({ generation: 2 }), failed, 'unchanged'],
    ['is not noted where the attempt is not', record(), failed, 'unchanged'],
    [
      'is late after another attempt with the same set',
      record({ retry: retry({ attempts: 2, startedAt: DUE + SECOND, isRunning: true }) }),
      failed,
      'unchanged',
    ],
  ])('%s', (_, before, transition, after) => check(before, transition, after));

  // Fault: the pause is negative. The retry state does not survive the store then, and the refusals are forgotten.
  test('waits even if the clock of the tab was set back since the attempt began', () => {
    const { retry: found } = refreshFailed(sent, failure(400), BACK_OFF, DUE - HOUR, 0)(sent);
    expect(found?.waitMs).toBeGreaterThanOrEqual(0);
  });
});

describe('for any answers of two tabs', () => {
  const results = fc.oneof(sets, fc.constantFrom<RefreshResult>('optout', 'ended'));
  const dates = fc.option(instants, { nil: undefined });

  test('an answer that is applied twice counts once', () => {
    fc.assert(
      fc.property(records, results, dates, instants, (given, result, dateMs, now) => {
        const before = deepFreeze({ ...given, set: setOf(9) });
        const transition = refreshAnswered(before, result, dateMs, now);
        const once = deepFreeze(transition(before));
        expect(transition(once)).toEqual(once);
      }),
    );
  });

  test('the second answer to one refresh token does not change what the first one brought', () => {
    fc.assert(
      fc.property(
        records,
        fc.oneof(sets, fc.constant('optout' as const)),
        results,
        dates,
        instants,
        (given, first, second, dateMs, now) => {
          const before = deepFreeze({ ...given, set: setOf(9) });
          const once = deepFreeze(refreshAnswered(before, first, dateMs, now)(before));
          expect(refreshAnswered(before, second, dateMs, now)(once)).toBe(once);
          expect(refreshFailed(before, failure(400), BACK_OFF, now, 0)(once)).toBe(once);
        },
      ),
    );
  });
});

/** A step of a user, a page or the service, taken at a time. */
type Step = (before: SessionRecord, now: number) => SessionRecord;
const claim: ClaimOptions = { hasLock: true, isExplicit: true, leaseMs: 12_000, wakeAttemptAt: 0 };
const steps: fc.Arbitrary<{ name: string; step: Step }> = fc.oneof(
  sets.map((set) => ({ name: 'setByHost', step: (before: SessionRecord, now: number) => setByHost(set, now)(before) })),
  sets.map((set) => ({
    name: 'setByRefreshingHost',
    step: (before: SessionRecord, now: number) => setByRefreshingHost(set, now)(before),
  })),
  sets.map((set) => ({
    name: 'rendered',
    step: (before: SessionRecord, now: number) => renderedWithPage(set, now)(before),
  })),
  sets.map((set) => ({
    name: 'provide',
    step: (before: SessionRecord, now: number) => setByProvide(before)(set, now)(before),
  })),
  fc.boolean().map((forget) => ({
    name: 'logout',
    step: (before: SessionRecord, now: number) => loggedOut(now, forget)(before),
  })),
  fc.constant({ name: 'optout', step: (before: SessionRecord, now: number) => optedOut(now)(before) }),
  fc.constant({ name: 'erased', step: (before: SessionRecord) => erased(before) }),
  fc.integer({ min: 5_000, max: DAY }).map((ms) => ({
    name: 'set back',
    step: (before: SessionRecord) => (before.set ? clockSetBack(before, ms)(before) : before),
  })),
  fc
    .tuple(
      fc.oneof(sets, fc.constantFrom('optout', 'ended', failure(), failure(400), failure(503, DAY))),
      fc.option(instants, { nil: undefined }),
      fc.boolean(),
      fc.integer({ min: 0, max: 10_000 }),
    )
    .map(([result, dateMs, isExplicit, ms]) => ({
      name: `refresh ${typeof result === 'string' ? result : result instanceof Error ? 'failed' : 'success'}`,
      step: (before: SessionRecord, now: number) => {
        const asked = claimRefresh(before, before, { ...claim, isExplicit }, now);
        if (typeof asked === 'string') return before;
        if (result instanceof Error) return refreshFailed(asked, result, BACK_OFF, now + ms, 0)(asked);
        return refreshAnswered(asked, result as RefreshResult, dateMs, now + ms)(asked);
      },
    })),
);
const histories = fc.array(fc.tuple(steps, fc.integer({ min: 10_000, max: 3 * HOUR })), { maxLength: 25 });

/** Call `visit` with every record of a history, the step that made it, and the record before. */
function walk(
  history: readonly (readonly [{ name: string; step: Step }, number])[],
  visit: (after: SessionRecord, before: SessionRecord, name: string, now: number) => void,
): void {
  let now = ARRIVAL;
  let before = emptyRecord(BASE_URL);
  for (const [{ name, step }, ms] of history) {
    const after = step(deepFreeze(before), now);
    visit(after, before, name, now);
    before = after;
    now += ms;
  }
}

describe('every record that a history of steps reaches', () => {
  test('survives the store and the parser unchanged', () => {
    fc.assert(
      fc.property(histories, (history) => {
        walk(history, (after) => expect(parseRecord(structuredClone(after), BASE_URL)).toEqual(after));
      }),
      { numRuns: runsOf(300) },
    );
  });

  test('has a generation that never falls, and that rises with each explicit action', () => {
    fc.assert(
      fc.property(histories, (history) => {
        walk(history, (after, before, name) => {
          expect(after.generation).toBeGreaterThanOrEqual(before.generation);
          const isEndedAgain = before.ended && after.set === before.set;
          if (!isEndedAgain && ['setByHost', 'setByRefreshingHost', 'logout', 'optout', 'erased'].includes(name))
            expect(after.generation).toBe(before.generation + 1);
        });
      }),
    );
  });

  test('returns no token behind a tombstone, which only the service, or a host that acts for it, can lift', () => {
    fc.assert(
      fc.property(histories, (history) => {
        walk(history, (after, before, name, now) => {
          if (after.optedOut) expect(tokenAt(after, now)).toBeUndefined();
          if (before.optedOut && !after.optedOut) expect(['refresh success', 'setByRefreshingHost']).toContain(name);
        });
      }),
    );
  });

  test('keeps the end of a set only with that set, and attempts also behind a tombstone', () => {
    fc.assert(
      fc.property(histories, (history) => {
        walk(history, (after) => {
          if (!after.set) expect(after.ended).toBeUndefined();
          if (!after.set && !after.optedOut) expect(after.retry).toBeUndefined();
        });
      }),
    );
  });
});

test('the builders of these tables create records that the parser accepts', () => {
  for (const built of [
    record(),
    sent,
    bare(),
    record({ set: SET_2, receivedAt: STALE, clearedAt: EXPIRES_AT + REFRESH_AT }),
  ])
    expect(parseRecord(structuredClone(built), BASE_URL)).toEqual(built);
});
