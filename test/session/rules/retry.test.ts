/** When the next attempt may start, and what an attempt changes: its claim, its failure, its answer, its end. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { attemptClaimed, attemptEnded } from '../../../src/session/rules/attempt-changes.ts';
import { isSameSet, type Lease, type RetryState, type SessionRecord } from '../../../src/session/rules/record.ts';
import {
  currentRetry,
  drawPause,
  earliestStart,
  isLeased,
  isRefusal,
  isUsedUp,
  type Plan,
  wokeUp,
} from '../../../src/session/rules/retry.ts';
import type { TokenError } from '../../../src/token/errors.ts';
import { tokenAt } from '../../../src/token/phase.ts';
import type { Answer } from '../../../src/token/token-set.ts';
import {
  attemptFailed,
  bare,
  type ChangeCase,
  checkChange,
  DAY,
  DUE,
  deepFreeze,
  failure,
  HOUR,
  leaseOf,
  MINUTE,
  NEVER,
  PROVIDE,
  provideAnswered,
  REFRESH,
  record,
  refreshAnswered,
  retry as retryOf,
  SECOND,
  setOf,
} from './fixtures.ts';

const EXPLICIT: Plan = { ...REFRESH, isExplicit: true };
const EXPLICIT_PROVIDE: Plan = { ...PROVIDE, isExplicit: true };
const DEFAULTS = { firstMs: 5_000, maxMs: 300_000 };
/** A pause that shows for how many attempts it was drawn. The longest adds nothing to `soonestAt`. */
const pause = (attempts: number) => (attempts === 99 ? 0 : attempts * MINUTE);
const ANSWERED = DUE + 2 * SECOND;
const retry = (change: Partial<RetryState> = {}) => retryOf({ soonestAt: ANSWERED, ...change });

beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0));
afterEach(() => void vi.restoreAllMocks());

test.each<readonly [sentence: string, plan: Plan, status: number | undefined, expected: boolean]>([
  ...[408, 425, 429, 500, 503, 599, undefined].map((status) => [`${status}, not`, REFRESH, status, false] as const),
  ...[200, 400, 401, 404, 499].map((status) => [`${status}`, REFRESH, status, true] as const),
  ['400 from `provide`, not', PROVIDE, 400, false],
])('a refusal: status %s', (_, plan, status, expected) => expect(isRefusal(plan, failure(status))).toBe(expected));

describe('the retry state', () => {
  const state = retry({ countedAt: DUE, attempts: 3, refusals: 2, waitUntil: DUE + MINUTE });
  test.each<readonly [sentence: string, now: number, counts: RetryState | undefined]>([
    ['counts for a day', DUE + DAY - 1, state],
    ['is void a day later', DUE + DAY, undefined],
    ['counts a little earlier, because clocks differ', DUE - 5_000, state],
    [
      'keeps only its attempts if the clock was set back',
      DUE - 5_001,
      { ...state, refusals: 0, waitUntil: 0, soonestAt: 0 },
    ],
  ])('%s', (_, now, counts) => {
    expect(currentRetry(record({ retry: state }), now)).toEqual(counts);
    expect(currentRetry(record(), now)).toBeUndefined();
  });

  test.each<readonly [sentence: string, state: RetryState | undefined, expected: boolean]>([
    ['is not used up where there is none', undefined, false],
    ['is not used up after three refusals', retry({ refusals: 3, attempts: 99 }), false],
    ['is used up after four refusals', retry({ refusals: 4 }), true],
  ])('%s', (_, given, expected) => expect(isUsedUp(given)).toBe(expected));
});

describe('the start of an attempt', () => {
  const waiting = retry({ waitUntil: DUE });
  const asked = retry({ waitUntil: DUE, reason: 'retry_after' });
  test.each<readonly [sentence: string, plan: Plan, state: RetryState | undefined, expected: number]>([
    ['is free without earlier ones', REFRESH, undefined, 0],
    ['waits for the pause', REFRESH, waiting, DUE],
    ['waits for the pause, as does `provide`', PROVIDE, waiting, DUE],
    ['does not wait for the pause where the page asked', EXPLICIT, waiting, 0],
    ['waits for the pause that the service asked for, even then', EXPLICIT, asked, DUE],
    ['does not wait for the service if it is `provide`', EXPLICIT_PROVIDE, asked, 0],
    ['comes for `provide`, which brings another set', PROVIDE, retry({ refusals: 4, waitUntil: 5 }), 5],
    ['comes where the page asked', EXPLICIT, retry({ refusals: 4 }), 0],
  ])('%s', (_, plan, state, expected) => expect(earliestStart(plan, state)).toBe(expected));
});

describe('the pause', () => {
  test.each<readonly [sentence: string, attempts: number, random: number, expected: number]>([
    ['starts with its first span', 1, 0, 5_000],
    ['doubles', 2, 0, 10_000],
    ['doubles up to the sixth attempt', 6, 0, 160_000],
    ['stops at its longest span', 7, 0, 300_000],
    ['stays there after thousands of attempts', 5_000, 0, 300_000],
    ['loses a quarter at most', 1, 1, 3_750],
    ['loses a quarter of its longest span at most', 7, 1, 225_000],
  ])('%s', (_, attempts, random, expected) => {
    vi.mocked(Math.random).mockReturnValue(random);
    expect(drawPause(DEFAULTS)(attempts)).toBe(expected);
  });

  test.each([
    [0, 0],
    [5, 300],
    [5_000, 10],
    [1_000, 1_000],
    [Number.NaN, 300_000],
    ['5s' as never, 300_000],
    [5_000, {} as never],
  ])('with firstMs %j and maxMs %j is a second, however many attempts there were', (firstMs, maxMs) => {
    vi.mocked(Math.random).mockReturnValue(1);
    const shortest = drawPause({ firstMs, maxMs });
    expect([1, 2, 100].map((attempts) => shortest(attempts))).toEqual([1_000, 1_000, 1_000]);
    const { retry } = attemptFailed(REFRESH, failure(503), shortest, ANSWERED)(record());
    expect(retry).toMatchObject({ waitUntil: ANSWERED + 1_000 });
  });

  test('is no longer than a day', () => expect(drawPause({ firstMs: 2 * DAY, maxMs: 3 * DAY })(1)).toBe(DAY));

  test('is drawn once, so that memory and store agree', () => {
    const drawn = drawPause(DEFAULTS);
    vi.mocked(Math.random).mockReturnValue(1);
    expect([drawn(1), drawn(1)]).toEqual([5_000, 5_000]);
  });
});

/** The starts of 40 attempts in a row: `fruitless` bring sets that have expired, then all fail; from attempt `woken` on, every pause is shortened. */
function startsOf(fruitless: number, woken: number, backOff = DEFAULTS): number[] {
  const starts: number[] = [];
  let now = DUE;
  let stored = record();
  for (let n = 0; n < 40; n++) {
    now = Math.max(now, earliestStart(REFRESH, stored.retry));
    starts.push(now);
    const sent = attemptClaimed(stored, REFRESH, leaseOf(now), pause)(stored);
    const pauseNow = drawPause(backOff);
    const ended =
      n < fruitless
        ? refreshAnswered(sent, setOf(n, DUE - DAY), now, pauseNow, now)
        : attemptFailed(REFRESH, failure(503), pauseNow, now);
    stored = ended(sent);
    if (n >= woken) stored = wokeUp(now)(stored);
  }
  return starts;
}

test('with the shortest pauses, there are at most 15 attempts in any 30 minutes, whenever the page wakes up', () => {
  vi.mocked(Math.random).mockReturnValue(1);
  let most = 0;
  for (let fruitless = 0; fruitless <= 8; fruitless++)
    for (let woken = 0; woken <= 20; woken++) {
      const starts = startsOf(fruitless, woken);
      for (const first of starts)
        most = Math.max(most, starts.filter((at) => at >= first && at < first + 30 * MINUTE).length);
    }
  expect(most).toBeLessThanOrEqual(15);
  expect(most).toBeGreaterThan(12);
});

test('with a pause of days, a page that wakes up makes eight attempts in a row, and the next one a day later', () => {
  const starts = startsOf(0, 0, { firstMs: 3 * DAY, maxMs: 3 * DAY });
  expect(starts.slice(0, 9)).toEqual([...Array(8).fill(DUE), DUE + DAY]);
});

/** The lease of a tab that is gone. */
const GONE = 4;

test.each<readonly [sentence: string, lease: Lease | undefined, now: number, expected: boolean]>([
  ['is leased from its start', leaseOf(DUE), DUE, true],
  ['is leased for 12 s', leaseOf(DUE), DUE + 11_999, true],
  ['is leased no longer', leaseOf(DUE), DUE + 12_000, false],
  ['is leased a little earlier, because clocks differ', leaseOf(DUE), DUE - 5_000, true],
  ['is not leased earlier: the clock was set back', leaseOf(DUE), DUE - 5_001, false],
  ['is leased to a tab while another one is gone', leaseOf(DUE, { id: 5 }), DUE, true],
  ['is not leased to a tab that is gone', leaseOf(DUE, { id: GONE }), DUE, false],
  ['is not leased at first', undefined, DUE, false],
])('a record %s', (_, lease, now, expected) => {
  expect(isLeased(record({ lease }), now, GONE)).toBe(expected);
});

describe('a claim', () => {
  const leased = (isLocked: boolean, id = 5) => record({ lease: leaseOf(DUE - SECOND, { id, isLocked }) });
  const paused = record({ retry: retry({ waitUntil: DUE + 1 }) });
  const inTime = record({ retry: retry({ waitUntil: DUE }) });
  const over = (isLocked: boolean) => record({ lease: leaseOf(DUE - 12 * SECOND, { id: GONE, isLocked }) });
  const old = record({ retry: retry({ countedAt: DUE - DAY, waitUntil: NEVER }) });
  const LOCKED = leaseOf(DUE);
  const FREE = leaseOf(DUE, { isLocked: false });
  type Case = readonly [string, before: SessionRecord, asked: SessionRecord, plan: Plan, lease: Lease, claims: boolean];
  test.each<Case>([
    ['succeeds without earlier attempts', record(), record(), REFRESH, LOCKED, true],
    ['succeeds without the lock', record(), record(), REFRESH, FREE, true],
    ['succeeds for `provide` on an empty record', bare(), bare(), PROVIDE, FREE, true],
    ['leaves the lease to another tab', leased(true), record(), REFRESH, FREE, false],
    ['leaves the lease to another tab where the page asked', leased(true), record(), EXPLICIT, FREE, false],
    ['leaves the lease to another tab that calls `provide`', leased(true), record(), PROVIDE, FREE, false],
    ['leaves the lease to a tab without a lock', leased(false), record(), REFRESH, LOCKED, false],
    ['is too late after a refresh in another tab', record({ set: setOf(2) }), record(), REFRESH, LOCKED, false],
    ['is too late after an act of the host', record({ generation: 2 }), record(), REFRESH, LOCKED, false],
    ['finds nothing in an erased store', bare({ generation: 0 }), record(), REFRESH, LOCKED, false],
    ['does not send a set that has ended in another tab', record({ ended: true }), record(), REFRESH, LOCKED, false],
    ['calls `provide` for a set that has ended', record({ ended: true }), record(), PROVIDE, LOCKED, true],
    ['is too early after a failure in another tab', paused, record(), REFRESH, LOCKED, false],
    ['is too early for `provide`, too', paused, record(), PROVIDE, LOCKED, false],
    ['is not too early where the page asked', paused, record(), EXPLICIT, LOCKED, true],
    ['is in time at the end of the pause', inTime, record(), REFRESH, LOCKED, true],
    ['ignores a pause of a day ago', old, record(), REFRESH, LOCKED, true],
  ])('%s', (_, before, asked, plan, lease, claims) => {
    const after = attemptClaimed(asked, plan, lease, pause)(deepFreeze(before));
    if (claims) expect(after).toEqual({ ...before, lease });
    else expect(after).toBe(before);
  });

  test('takes the lease of a tab that is gone', () => {
    const before = deepFreeze(leased(true, GONE));
    expect(attemptClaimed(record(), REFRESH, FREE, pause, GONE)(before)).toEqual({ ...before, lease: FREE });
  });

  test.each<readonly [sentence: string, before: SessionRecord, goneId: number | undefined, isFailure: boolean]>([
    ['of a tab that is gone, as its lock shows, counts for nothing', over(true), GONE, false],
    ['of a tab that may still be waiting counts as a failure', over(true), 0, true],
    ['of a tab without a lock counts as a failure', over(false), undefined, true],
  ])('that finds a lease that has run out, %s', (_, before, goneId, isFailure) => {
    const counted = retry({ countedAt: DUE, waitUntil: DUE + MINUTE, soonestAt: DUE });
    const after = attemptClaimed(record(), REFRESH, LOCKED, pause, goneId)(deepFreeze(before));
    expect(after).toEqual({ ...before, lease: LOCKED, ...(isFailure ? { retry: counted } : {}) });
  });

  const expired = record({ offsetMs: HOUR, changedAt: DUE });
  const extended = record({ generation: 2, set: { ...setOf(1), refreshAt: DUE } });
  test.each<readonly [sentence: string, asked: SessionRecord, found: SessionRecord, plan: Plan, claims: boolean]>([
    ['asks `provide` where an expired set is stored', bare(), expired, PROVIDE, true],
    ['asks `provide` where nothing is stored', bare(), bare({ generation: 0 }), PROVIDE, true],
    ['does not ask `provide` where a valid token is stored', bare(), record(), PROVIDE, false],
    ['does not ask `provide` where the user has changed since', bare(), bare({ changedAt: DUE + 1 }), PROVIDE, false],
    ['does not wait for a pause that is stored', record(), { ...extended, retry: paused.retry }, REFRESH, true],
    ['leaves the lease to another tab', record(), leased(true), REFRESH, false],
    ['does not send another set than the one that is stored', record(), record({ set: setOf(2) }), REFRESH, false],
  ])('made before a late store answered %s', (_, asked, found, plan, claims) => {
    const after = attemptClaimed(asked, plan, LOCKED, pause)(deepFreeze(found), found);
    if (claims) expect(after).toEqual({ ...found, lease: LOCKED });
    else expect(after).toBe(found);
  });
});

/** The record while its set is being refreshed, since {@link DUE}; and once the attempt is over, before its outcome. */
const sent = record({ lease: leaseOf(DUE) });
const idle = { ...sent, lease: undefined };

const SET_2 = setOf(2, DUE);
const supplied = (change: Partial<SessionRecord> = {}) =>
  record({
    generation: 2,
    set: SET_2,
    receivedAt: ANSWERED,
    acceptedUntil: SET_2.expiresAt,
    changedAt: ANSWERED,
    ...change,
  });

describe('the end of an attempt', () => {
  const done = refreshAnswered(sent, 'ended', undefined, pause, ANSWERED);
  const failed = attemptEnded(sent, REFRESH, { kind: 'failed', error: failure() }, undefined, pause, ANSWERED);
  const ended = { ended: true };
  const counted = { retry: retry({ countedAt: ANSWERED, waitUntil: ANSWERED + MINUTE }) };
  const taken = { ...sent, lease: leaseOf(DUE, { id: 7 }) };
  const set = setOf(2);
  const loggedOut = bare({ generation: 2, changedAt: DUE });
  const asked = bare({ lease: leaseOf(DUE) });
  const nobody = attemptEnded(asked, PROVIDE, { kind: 'nobody' }, undefined, pause, ANSWERED);
  const brought = attemptEnded(asked, PROVIDE, { kind: 'answered', answer: SET_2 }, undefined, pause, ANSWERED);
  const fruitless = { retry: retry({ countedAt: ANSWERED }) };
  test.each<ChangeCase>([
    ['gives back the lease, and has its outcome', sent, done, { ...idle, ...ended }],
    ['has its failure', sent, failed, { ...idle, ...counted }],
    ['has its outcome, even if another tab has taken the lease', taken, done, { ...taken, ...ended }],
    ['has its failure, even if another tab has taken the lease', taken, failed, { ...taken, ...counted }],
    ['gives back only the lease after a refresh in another tab', { ...sent, set }, done, { ...idle, set }],
    ['comes too late after a logout', loggedOut, done, 'unchanged'],
    ['comes too late after an act of the host', { ...loggedOut, set: sent.set }, done, 'unchanged'],
    ['fails too late after a logout', loggedOut, failed, 'unchanged'],
    ['comes too late for an erased store', bare({ generation: 0 }), done, 'unchanged'],
    [
      'of `provide` after a change of the user counts, as there is no set',
      loggedOut,
      nobody,
      { ...loggedOut, ...fruitless },
    ],
    ['of `provide` comes too late for a set that was supplied', supplied(), nobody, 'unchanged'],
    ['of `provide` replaces the set of a late store that has its lease', sent, brought, supplied()],
  ])('%s', checkChange);
});

describe('a failure', () => {
  type Case = readonly [string, before: Partial<RetryState>, TokenError, waitMs: number, expected: Partial<RetryState>];
  const later = failure(503, HOUR);
  const REFUSED = { reason: 'refused' } as const;
  test.each<Case>([
    ['counts, and pauses for that', { attempts: 2 }, failure(), 3 * MINUTE, { attempts: 3 }],
    ['keeps the count of refusals', { refusals: 2 }, failure(503), 2 * MINUTE, { refusals: 2 }],
    ['by refusal waits 30 s', { attempts: 9 }, failure(400), 30 * SECOND, { attempts: 10, refusals: 1, ...REFUSED }],
    ['by refusal waits 2 min the second time', { refusals: 1 }, failure(400), 2 * MINUTE, { refusals: 2, ...REFUSED }],
    ['by refusal waits 10 min the third time', { refusals: 2 }, failure(400), 10 * MINUTE, { refusals: 3, ...REFUSED }],
    ['by refusal uses up the set the fourth time', { refusals: 3 }, failure(400), 0, { refusals: 4, ...REFUSED }],
    ['waits as long as the service asks', {}, later, HOUR, { reason: 'retry_after' }],
    ['by refusal waits so long, too', {}, failure(404, HOUR), HOUR, { reason: 'retry_after', refusals: 1 }],
    ['waits for a day at most', {}, failure(503, 2 * DAY), DAY, { reason: 'retry_after' }],
    ['waits longer than the service asks', {}, failure(503, 2 * MINUTE - 1), 2 * MINUTE, {}],
    ['waits as long as the service asks, by its own pause', {}, failure(503, 2 * MINUTE), 2 * MINUTE, {}],
    ['forgets the reason of an earlier pause', { reason: 'retry_after' }, failure(), 2 * MINUTE, {}],
    ['counts from one after a day', { attempts: 9, countedAt: ANSWERED - DAY }, failure(), MINUTE, { attempts: 1 }],
  ])('%s', (_, before, error, waitMs, expected) => {
    const given = { ...idle, retry: retry(before) };
    const after = attemptFailed(REFRESH, error, pause, ANSWERED)(deepFreeze(given));
    const counted = {
      ...given.retry,
      attempts: 2,
      countedAt: ANSWERED,
      reason: 'back_off',
      waitUntil: ANSWERED + waitMs,
    };
    expect(after).toEqual({ ...given, retry: { ...counted, ...expected } });
  });

  const soon = { attempts: 2, refusals: 1, countedAt: ANSWERED, waitUntil: ANSWERED + 30 * SECOND };
  const refused = { ...idle, retry: retry({ ...soon, reason: 'refused' }) };
  const fails = (plan: Plan, error: TokenError) => attemptFailed(plan, error, pause, ANSWERED);
  const [tried, usedUp] = [
    { ...idle, retry: retry({ countedAt: ANSWERED, waitUntil: ANSWERED + MINUTE }) },
    { ...idle, retry: retry({ refusals: 4 }) },
  ];
  test.each<ChangeCase>([
    ['counts from one', idle, fails(REFRESH, failure()), tried],
    ['of `provide` is no refusal, whatever the status', idle, fails(PROVIDE, failure(400)), tried],
    ['where the page asked forgets earlier refusals', usedUp, fails(EXPLICIT, failure(400)), refused],
  ])('%s', checkChange);
});

describe('a page that wakes up', () => {
  const at = (change: Partial<RetryState>) =>
    record({ retry: retry({ waitUntil: DUE + HOUR, soonestAt: DUE, ...change }) });
  const soon = wokeUp(DUE);
  const woken = record({ retry: retry({ waitUntil: DUE, reason: 'woken', soonestAt: DUE }) });
  test.each<ChangeCase>([
    ['shortens the pause', at({}), soon, woken],
    ['does not lengthen the pause', at({ waitUntil: DUE }), soon, 'unchanged'],
    ['waits if there have been too many attempts', at({ soonestAt: DUE + 1 }), soon, 'unchanged'],
    ['does not shorten the pause after a refusal', at({ reason: 'refused' }), soon, 'unchanged'],
    ['does not shorten the pause that the service asked for', at({ reason: 'retry_after' }), soon, 'unchanged'],
    ['changes nothing without a pause', record(), soon, 'unchanged'],
  ])('%s', checkChange);
});

describe('an answer of `provide`', () => {
  const answered = (answer?: Answer, user?: string) => provideAnswered(answer, user, pause, ANSWERED);
  const tries = (attempts: number) => ({ retry: retry({ attempts, refusals: 2 }) });
  const counted = (attempts: number, waitUntil = 0) => ({ retry: retry({ attempts, countedAt: ANSWERED, waitUntil }) });
  const paused = counted(4, ANSWERED + pause(4));
  const [ahead, end] = [{ offsetMs: 15 * MINUTE }, { ended: true }];
  // A set that is due within a minute counts as due.
  const due = setOf(2, ANSWERED - 14 * MINUTE);
  const later = setOf(2, ANSWERED - 14 * MINUTE + 1);
  const given = { set: due, acceptedUntil: due.expiresAt };
  const until = { acceptedUntil: later.expiresAt };
  const HELD = { optedOut: true };
  const [supply, again] = [answered(SET_2), answered(setOf(1))];
  const heldBack = supplied({ ...HELD, ...paused });
  const dueByService = supplied({ ...ahead, ...counted(1) });
  const gone = bare({ ...HELD, generation: 2, changedAt: ANSWERED });
  test.each<ChangeCase>([
    ['with a set ends the series', bare(tries(9)), supply, supplied()],
    ['with a set belongs to the user of the page', bare({ user: 'a' }), answered(SET_2, 'b'), supplied({ user: 'b' })],
    ['with a set belongs to the user who was awaited', bare({ user: 'a' }), supply, supplied({ user: 'a' })],
    ['with a set that is due counts', bare(tries(2)), answered(due), supplied({ ...given, ...counted(3) })],
    ['with a set that is due later does not', bare(tries(2)), answered(later), supplied({ set: later, ...until })],
    ['with a fourth set that is due pauses', bare(tries(3)), answered(due), supplied({ ...given, ...paused })],
    ['with a set that is due by the service counts', bare(ahead), supply, dueByService],
    ['with a set behind the tombstone pauses', bare({ ...HELD, ...tries(3) }), supply, heldBack],
    ['with the set that has ended pauses', record({ ...end, ...tries(3) }), again, record({ ...end, ...paused })],
    ['with an opt-out leaves a tombstone', bare(tries(9)), answered('optout'), gone],
    ['that nobody is signed in ends the series', bare(tries(9)), answered(), bare()],
    ['that nobody is signed in changes nothing without a series', bare(), answered(), 'unchanged'],
    ['that nobody is signed in leaves a set, with its refusals', record(tries(9)), answered(), 'unchanged'],
  ])('%s', checkChange);
});

describe('an answer of the service', () => {
  const answered = (answer: Answer | 'ended') => refreshAnswered(sent, answer, undefined, pause, ANSWERED);
  const refreshed = { ...idle, set: SET_2, receivedAt: ANSWERED, acceptedUntil: SET_2.expiresAt };
  const heldBack = { ...idle, optedOut: true };
  const tombstone = (change: Partial<SessionRecord> = {}) =>
    bare({ generation: 2, optedOut: true, changedAt: ANSWERED, acceptedUntil: idle.acceptedUntil, ...change });
  const dropped = { ...heldBack, set: undefined };
  const often = { retry: retry({ attempts: 3 }) };
  const once = { retry: retry({ attempts: 1, countedAt: ANSWERED }) };
  const paused = { retry: retry({ attempts: 4, countedAt: ANSWERED, waitUntil: ANSWERED + pause(4) }) };
  const unpaused = { retry: { ...paused.retry, waitUntil: 0 } };
  const later = { acceptedUntil: SET_2.expiresAt + 1 };
  test.each<ChangeCase>([
    ['with a set replaces the set, and ends the series', { ...idle, ...often }, answered(SET_2), refreshed],
    ['with a set keeps the user', { ...idle, user: 'a' }, answered(SET_2), { ...refreshed, user: 'a' }],
    ['with a set lifts the tombstone', heldBack, answered(SET_2), refreshed],
    ['with a set lifts an end that another tab noted', { ...idle, ended: true }, answered(SET_2), refreshed],
    ['with a set does not lower what is known', { ...idle, ...later }, answered(SET_2), { ...refreshed, ...later }],
    ['with an opt-out erases the set', { ...idle, ...often }, answered('optout'), tombstone()],
    ['with an opt-out behind the tombstone counts', heldBack, answered('optout'), tombstone(once)],
    ['with a fourth opt-out there pauses', { ...heldBack, ...often }, answered('optout'), tombstone(paused)],
    ['with the end keeps set and count', { ...idle, ...often }, answered('ended'), { ...idle, ...often, ended: true }],
    ['with the end ends a pause', { ...idle, ...paused }, answered('ended'), { ...idle, ...unpaused, ended: true }],
    ['with the end there drops the set, and counts', heldBack, answered('ended'), { ...dropped, ...once }],
    ['with a fourth end there pauses', { ...heldBack, ...often }, answered('ended'), { ...dropped, ...paused }],
  ])('%s', checkChange);
});

describe('the clock, on arrival of a refreshed set', () => {
  /** The set arrives 2 s after the question, issued by a service whose clock is `serviceMs` ahead of the local one. */
  const arrival = (serviceMs: number, dateMs: number | undefined, issued = SET_2) => {
    const set = { ...issued, refreshAt: issued.refreshAt + serviceMs, expiresAt: issued.expiresAt + serviceMs };
    const found = refreshAnswered(sent, set, dateMs, pause, ANSWERED)({ ...idle, offsetMs: 7 });
    return [found.offsetMs, found.set!.refreshAt - set.refreshAt];
  };
  type Case = readonly [string, serviceMs: number, dateMs: number | undefined, offsetMs: number, putOffMs: number];
  test.each<Case>([
    ['agrees where Date is between question and answer', 0, DUE + SECOND, 0, 0],
    ['agrees where Date is less than 5 s before the question', 0, DUE - 4_999, 0, 0],
    ['agrees where Date is less than 5 s after the answer', 0, ANSWERED + 4_999, 0, 0],
    ['is behind by an hour: the offset is taken from the question', HOUR, DUE + HOUR + SECOND, HOUR + SECOND, 0],
    ['is 5 s behind: the offset counts', 0, ANSWERED + 5_000, 7_000, 0],
    ['does not believe a Date in the past while the set is fresh', 0, DUE - HOUR, 0, 0],
    ['is ahead by an hour: the offset is taken from the question', -HOUR, DUE - HOUR + SECOND, -HOUR + SECOND, 0],
    ['agrees as far as is known where Date is missing', HOUR, undefined, 0, 0],
    // Asked an hour after `refreshAt`: service time at the question was `refreshAt` at most. Refresh half-way to the expiry.
    ['is ahead, and Date is missing: the arrival counts as refreshAt', -75 * MINUTE, undefined, -HOUR, 22.5 * MINUTE],
    ['is slightly ahead: a set nearly due is put off, without an offset', -14.5 * MINUTE, undefined, 0, 22.5 * MINUTE],
    ['is slightly ahead: a set due in a minute is left alone', -14 * MINUTE, undefined, 0, 0],
  ])('%s', (_, serviceMs, dateMs, offsetMs, putOffMs) => {
    expect(arrival(serviceMs, dateMs)).toEqual([offsetMs, putOffMs]);
  });

  test.each<readonly [sentence: string, refreshAt: number, lifeMs: number, putOffMs: number]>([
    ['with a life of 10 s that is due a second later is left alone', DUE + SECOND, 10 * SECOND, 0],
    ['with a life of 40 s that is due a second later is put off', DUE + SECOND, 40 * SECOND, 20 * SECOND],
  ])('a set %s', (_, refreshAt, lifeMs, putOffMs) => {
    const brief = { ...SET_2, refreshAt, expiresAt: refreshAt + lifeMs };
    expect(arrival(0, undefined, brief)).toEqual([0, putOffMs]);
  });

  test('a set that was due before it was asked for does not shift a clock that Date confirms', () => {
    const old = { ...SET_2, refreshAt: DUE - 50 * MINUTE, expiresAt: DUE + 10 * MINUTE };
    // Half-way from now to the expiry.
    expect(arrival(0, DUE + SECOND, old)).toEqual([0, 55 * MINUTE]);
  });

  test('the question is taken to be as late as the answer if its time is lost', () => {
    const found = refreshAnswered(idle, SET_2, ANSWERED + 6 * SECOND, pause, ANSWERED)(idle);
    expect(found.offsetMs).toBe(6 * SECOND);
  });

  type Arrival = readonly [
    string,
    expiresAt: number,
    dateMs: number,
    attempts: number,
    counted: [number, number?] | [],
  ];
  test.each<Arrival>([
    ['that has expired on arrival counts', ANSWERED - 1, ANSWERED, 2, [3, 0]],
    ['that expires as it arrives counts', ANSWERED, ANSWERED, 2, [3, 0]],
    ['that had expired before it was asked for keeps its instants in order', DUE - 1, ANSWERED, 2, [3, 0]],
    ['that expires as it is asked for keeps its instants', DUE, ANSWERED, 2, [3, 0]],
    ['that has expired on arrival pauses the fourth time', ANSWERED, ANSWERED, 3, [4, ANSWERED + pause(4)]],
    ['that has expired by the clock of the service counts', ANSWERED + HOUR, DUE + HOUR, 2, [3, 0]],
    ['with a few milliseconds left ends the series', ANSWERED + 10, ANSWERED, 3, []],
  ])('a set %s', (_, expiresAt, dateMs, before, [attempts, waitUntil = 0]) => {
    const brief = { ...SET_2, refreshAt: expiresAt - 5, expiresAt };
    const given = { ...idle, retry: retry({ attempts: before }) };
    const found = refreshAnswered(sent, brief, dateMs, pause, ANSWERED)(given);
    expect(found.retry).toEqual(attempts && retry({ attempts, waitUntil, countedAt: ANSWERED }));
    // It is due at once, not half-way to its expiry.
    if (attempts) expect([found.set, tokenAt(found, ANSWERED + found.offsetMs)]).toEqual([brief, undefined]);
  });
});

test('the second answer to one set changes nothing of what the first one brought', () => {
  const results: Answer[] = [setOf(2, DUE), setOf(1, DUE), 'optout'];
  for (const first of results)
    for (const second of [...results, 'ended' as const]) {
      const once = refreshAnswered(sent, first, undefined, pause, ANSWERED)(sent);
      expect(isSameSet(once, sent)).toBe(false);
      const twice = refreshAnswered(sent, second, undefined, pause, ANSWERED)(once);
      expect(twice).toBe(once);
    }
});
