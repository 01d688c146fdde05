/** The state of one page: what is known, what a new record changes, and how an attempt and an absence end. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  type AttemptEnd,
  attemptEnded,
  type Cause,
  initialPage,
  isSettled,
  type PageState,
  pageClockSetBack,
  recordAdopted,
  storeOutdated,
  waitEnded,
  wasHidden,
  wentAway,
  wokeUp,
} from '../../../src/session/rules/page-state.ts';
import { loggedOut, type SessionRecord, setByHost } from '../../../src/session/rules/record.ts';
import {
  BACK_OFF,
  bare,
  DUE,
  deepFreeze,
  FRESH,
  failure,
  HOUR,
  MINUTE,
  page,
  record,
  SECOND,
  setOf,
} from './fixtures.ts';

/** The random number of every draw in this file. */
const DRAW = 0.5;
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(DRAW));
afterEach(() => void vi.restoreAllMocks());

describe('a page', () => {
  test('that has just been opened has read, done and announced nothing', () => {
    expect(initialPage(true, false, 'custom')).toEqual({
      canProvide: true,
      canRefresh: false,
      consent: 'pending',
      isClosed: false,
      isAway: false,
      hiddenAt: 0,
      callers: 0,
      persistence: 'custom',
      isCurrent: false,
      isKnown: false,
      writes: 0,
      absences: 0,
      lockRefusals: 0,
      otherTabUntil: 0,
      fruitlessAttempts: 0,
      notBefore: 0,
      wakeAttemptAt: 0,
      cause: 'load',
      isErrorEmitted: false,
      emitted: {},
    });
  });

  test.each<readonly [sentence: string, page: PageState, settled: boolean]>([
    ['is not settled at first', initialPage(false, true, 'memory'), false],
    ['is settled once the store is read, with consent', page(), true],
    ['is not settled without consent', page({ consent: 'pending' }), false],
    ['is not settled once consent is refused', page({ consent: 'refused' }), false],
    ['is not settled before the store is read again', page({ isCurrent: false }), false],
    ['is not settled while a write runs', page({ writes: 1 }), false],
    ['is not settled while it is away', page({ isAway: true }), false],
    ['is not settled once it is closed', page({ isClosed: true }), false],
  ])('%s', (_, given, settled) => {
    expect(isSettled(given)).toBe(settled);
  });
});

describe('another record', () => {
  const before = record();
  const busy: PageState = page({
    cause: 'set',
    lastError: failure(503),
    isErrorEmitted: true,
    provideResult: 'failed',
    emitted: { token: 'advertising-1', need: true },
  });
  const reset = { lastError: undefined, isErrorEmitted: false, provideResult: undefined };
  const asks = { emitted: { token: 'advertising-1', need: false } };
  const silent = { provideResult: 'nobody', emitted: { token: 'advertising-1', need: true } };
  type Row = readonly [
    sentence: string,
    page: PageState,
    before: SessionRecord,
    after: SessionRecord,
    cause: Cause,
    changed: Partial<PageState> | 'unchanged',
  ];
  test.each<Row>([
    ['with the same set changes nothing', busy, before, record({ ended: true, offsetMs: 7 }), 'tab', 'unchanged'],
    [
      'with a refreshed set ends the run of failures',
      busy,
      before,
      record({ set: setOf(2) }),
      'refresh',
      { cause: 'refresh', ...reset, ...asks },
    ],
    [
      'with a set of the host does so too',
      busy,
      before,
      setByHost(setOf(2), DUE)(before),
      'set',
      { cause: 'set', ...reset, ...asks },
    ],
    ['with an erased set makes a new need', busy, before, bare({ generation: 2 }), 'set', { ...reset, ...asks }],
    [
      'with a logout neither calls `provide` nor asks the page',
      busy,
      before,
      loggedOut(DUE)(before),
      'tab',
      { cause: 'tab', ...reset, ...silent } as never,
    ],
    [
      'with a logout on an empty record does the same',
      busy,
      bare(),
      loggedOut(DUE)(bare()),
      'set',
      { ...reset, ...silent } as never,
    ],
    [
      'with a set after a logout makes a new need possible',
      busy,
      loggedOut(DUE)(before),
      setByHost(setOf(2), DUE)(before),
      'set',
      { ...reset, ...asks },
    ],
    [
      'with an opt-out of the service makes a new need: another user may be signed in',
      busy,
      before,
      bare({ generation: 2, optedOut: true, clearedAt: DUE }),
      'refresh',
      { cause: 'refresh', ...reset, ...asks },
    ],
    [
      'with an opt-out that `provide` returned asks nobody again',
      busy,
      bare(),
      bare({ generation: 2, optedOut: true, clearedAt: DUE }),
      'provide',
      { cause: 'provide', ...reset, ...silent } as never,
    ],
    [
      'with another set behind the tombstone makes a new need possible',
      busy,
      record({ optedOut: true }),
      record({ optedOut: true, set: setOf(2) }),
      'refresh',
      { cause: 'refresh', ...reset, ...asks },
    ],
    [
      'without the set that another tab logged out behind the tombstone asks nobody',
      busy,
      record({ optedOut: true }),
      bare({ generation: 2, optedOut: true, clearedAt: DUE }),
      'tab',
      { cause: 'tab', ...reset, ...silent } as never,
    ],
    [
      'without a set of the same user, as before, is no new need',
      busy,
      bare({ user: 'a' }),
      bare({ generation: 2, user: 'a' }),
      'set',
      { ...reset },
    ],
    [
      'without a set of another user makes a new need',
      busy,
      bare({ user: 'a' }),
      bare({ generation: 2, user: 'b' }),
      'set',
      { ...reset, ...asks },
    ],
    [
      'without tombstone and set makes a new need',
      busy,
      record({ optedOut: true }),
      bare({ generation: 2 }),
      'refresh',
      { cause: 'refresh', ...reset, ...asks },
    ],
    [
      'found by the first read changes the cause alone',
      { ...busy, isKnown: false },
      bare(),
      before,
      'load',
      { cause: 'load' },
    ],
    [
      'by the host before the first read is a change like any other',
      { ...busy, isKnown: false },
      before,
      record({ set: setOf(2) }),
      'set',
      { cause: 'set', ...reset, ...asks },
    ],
    [
      'found by the first read is no logout',
      page({ isKnown: false }),
      bare(),
      bare({ generation: 3, clearedAt: DUE }),
      'load',
      { cause: 'load' },
    ],
  ])('%s', (_, given, one, other, cause, changed) => {
    const found = recordAdopted(deepFreeze(given), one, other, cause);
    if (changed === 'unchanged') expect(found).toBe(given);
    else expect(found).toEqual({ ...given, ...changed });
  });
});

test.each<Cause>(['refresh', 'tab'])('a set refused behind the tombstone (%s) asks the page, and says why', (cause) => {
  const given = page({ emitted: { need: true } });
  const found = recordAdopted(given, record({ optedOut: true }), bare({ optedOut: true }), cause);
  expect(found).toMatchObject({ provideResult: 'nobody', emitted: { need: false } });
  expect(found.lastError).toMatchObject({ code: 'opted_out', message: expect.stringMatching(/refused the set/) });
});

describe('the end of a wait for another tab', () => {
  test.each<readonly [sentence: string, isChanged: boolean, otherTabUntil: number, lockRefusals: number]>([
    ['by a message of that tab ends the count of refusals', true, DUE + SECOND, 0],
    ['before its time does not count as a refusal', false, DUE + 1, 1],
    ['at its time counts as a refusal', false, DUE, 2],
    ['after its time counts as a refusal', false, DUE - 1, 2],
  ])('%s', (_, isChanged, otherTabUntil, lockRefusals) => {
    const given = deepFreeze(page({ lockRefusals: 2, otherTabUntil, fruitlessAttempts: 3 }));
    expect(waitEnded(given, isChanged, DUE)).toEqual({ ...given, otherTabUntil: 0, lockRefusals });
  });
});

describe('the end of an attempt', () => {
  const attempt = {
    plan: { kind: 'refresh', isExplicit: false, ignoresLock: false },
    generation: 1,
    startedAt: DUE,
  } as const;
  const busy = (fruitlessAttempts: number): PageState =>
    page({ attempt, fruitlessAttempts, otherTabUntil: 5, notBefore: 6 });
  const WAIT = 12 * SECOND;
  const PAUSES = { ...BACK_OFF, otherTabMs: WAIT };
  test.each<readonly [sentence: string, attempts: number, end: AttemptEnd, changed: Partial<PageState>]>([
    ['that ran delays no other', 0, 'done', { fruitlessAttempts: 1, notBefore: 0, otherTabUntil: 0 }],
    [
      'that ran for the third time delays no other',
      2,
      'done',
      { fruitlessAttempts: 3, notBefore: 0, otherTabUntil: 0 },
    ],
    [
      'that ran for the fourth time in vain delays the next',
      3,
      'done',
      { fruitlessAttempts: 4, notBefore: DUE + 20_000, otherTabUntil: 0 },
    ],
    [
      'that failed leaves the pause to the record',
      9,
      'failed',
      { fruitlessAttempts: 10, notBefore: 0, otherTabUntil: 0 },
    ],
    [
      'that failed without a trace delays the next',
      0,
      'failed_unrecorded',
      { fruitlessAttempts: 1, notBefore: DUE + 2_500, otherTabUntil: 0 },
    ],
    [
      'that failed so again delays it longer',
      2,
      'failed_unrecorded',
      { fruitlessAttempts: 3, notBefore: DUE + 10_000, otherTabUntil: 0 },
    ],
    [
      'that another tab makes waits for that tab',
      2,
      'other_tab',
      { lockRefusals: 1, fruitlessAttempts: 2, notBefore: 6, otherTabUntil: DUE + WAIT },
    ],
  ])('%s', (_, attempts, end, changed) => {
    const given = deepFreeze(busy(attempts));
    expect(attemptEnded(given, end, DUE, PAUSES)).toEqual({ ...given, attempt: undefined, ...changed });
  });

  test.each([
    ['the pause that the server has asked for', HOUR, 0, HOUR],
    ['not more than a day of it', 100 * HOUR, 0, 24 * HOUR],
    ['its own pause if that is longer', SECOND, 5, 3 * MINUTE],
  ])('that failed unrecorded waits %s', (_, retryAfterMs, attempts, expected) => {
    vi.mocked(Math.random).mockReturnValue(0);
    const { notBefore } = attemptEnded(busy(attempts), 'failed_unrecorded', DUE, { ...PAUSES, retryAfterMs });
    expect(notBefore).toBe(DUE + expected);
  });

  test.each([
    ['during the wait for another tab changes nothing', DUE + 1, {}],
    ['at the end of that wait begins another', DUE, { lockRefusals: 2, otherTabUntil: DUE + WAIT }],
  ])('that found the lock taken %s', (_, otherTabUntil, changed) => {
    const given = deepFreeze(page({ attempt, otherTabUntil, lockRefusals: 1 }));
    const found = attemptEnded(given, 'other_tab', DUE, PAUSES);
    expect(found).toEqual({ ...given, attempt: undefined, ...changed });
  });
});

describe('a page that wakes up', () => {
  test.each<readonly [sentence: string, page: PageState, changed: Partial<PageState>]>([
    ['tries again within 2 s', page({ isAway: true }), { isAway: false, wakeAttemptAt: FRESH + SECOND, notBefore: 0 }],
    [
      'shortens its own pause',
      page({ notBefore: FRESH + HOUR }),
      { wakeAttemptAt: FRESH + SECOND, notBefore: FRESH + SECOND },
    ],
    [
      'does not lengthen its own pause',
      page({ notBefore: FRESH + 1 }),
      { wakeAttemptAt: FRESH + SECOND, notBefore: FRESH + 1 },
    ],
    [
      'keeps the pause of a `provide` that fails',
      page({ notBefore: FRESH + HOUR, provideResult: 'failed' }),
      { wakeAttemptAt: FRESH + SECOND, notBefore: FRESH + HOUR },
    ],
    [
      'has missed nothing if it was hidden for 2 s',
      page({ hiddenAt: FRESH - 2 * SECOND }),
      { hiddenAt: 0, wakeAttemptAt: FRESH + SECOND, notBefore: 0 },
    ],
    [
      'reads again if it was hidden for longer',
      page({ hiddenAt: FRESH - 2 * SECOND - 1 }),
      { hiddenAt: 0, wakeAttemptAt: FRESH + SECOND, notBefore: 0, isCurrent: false, absences: 1 },
    ],
    [
      'reads again if the clock was set back while it was hidden',
      page({ hiddenAt: FRESH + HOUR }),
      { hiddenAt: 0, wakeAttemptAt: FRESH + SECOND, notBefore: 0, isCurrent: false, absences: 1 },
    ],
  ])('%s', (_, given, changed) => {
    expect(wokeUp(deepFreeze(given), FRESH)).toEqual({ ...given, ...changed });
  });
});

describe('a page whose device clock was set back', () => {
  test('moves its own instants by the same span', () => {
    const given = deepFreeze(
      page({ hiddenAt: DUE, otherTabUntil: DUE + 1, notBefore: DUE + 2, wakeAttemptAt: DUE + 3, fruitlessAttempts: 2 }),
    );
    const moved = {
      hiddenAt: DUE - HOUR,
      otherTabUntil: DUE + 1 - HOUR,
      notBefore: DUE + 2 - HOUR,
      wakeAttemptAt: DUE + 3 - HOUR,
    };
    expect(pageClockSetBack(given, HOUR)).toEqual({ ...given, ...moved });
    const plan = { kind: 'provide', reason: 'empty', ignoresLock: false } as const;
    const attempt = { plan, generation: 3, startedAt: DUE };
    expect(pageClockSetBack(page({ attempt }), HOUR).attempt).toEqual({ ...attempt, startedAt: DUE - HOUR });
  });

  test('keeps 0, which means no instant', () => {
    expect(pageClockSetBack(page(), HOUR)).toEqual(page());
  });
});

test('a page remembers when it was hidden first, not when that was last noticed', () => {
  const hidden = wasHidden(deepFreeze(page()), FRESH);
  expect(hidden).toEqual({ ...page(), hiddenAt: FRESH });
  expect(wasHidden(hidden, FRESH + HOUR)).toEqual(hidden);
});

describe('a page that goes away', () => {
  test('knows nothing of the store until it has read again, and keeps everything else', () => {
    const given = deepFreeze(page({ emitted: { token: 'advertising-1' }, absences: 2, writes: 1 }));
    const outdated = { ...given, isCurrent: false, absences: 3 };
    expect(wentAway(given)).toEqual({ ...outdated, isAway: true });
    expect(storeOutdated(given)).toEqual(outdated);
  });

  test('counts every absence, so that no read of an earlier one counts', () => {
    expect(wentAway(wentAway(page())).absences).toBe(2);
  });
});
