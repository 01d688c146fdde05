/** When the service may be asked again: back-off, budget, refusals, Retry-After, and the lease of another tab. */

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  attemptFailed,
  attemptStarted,
  currentRetry,
  isLeased,
  isRefusal,
  isUsedUp,
  type NextAttempt,
  nextAttempt,
  parseRetry,
  pauseMs,
  type RetryState,
} from '../../../src/session/rules/retry.ts';
import { BACK_OFF, DAY, failure, HOUR, MINUTE, REFRESH_AT, retry, SECOND } from './fixtures.ts';

const START = REFRESH_AT;
/** The random number of every draw in this file. */
const DRAW = 0.5;
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(DRAW));
afterEach(() => void vi.restoreAllMocks());

describe('a failure', () => {
  test.each<readonly [sentence: string, status: number | undefined, isRefusal: boolean]>([
    ['without an answer is an outage', undefined, false],
    ['with 408 is an outage', 408, false],
    ['with 425 is an outage', 425, false],
    ['with 429 is an outage', 429, false],
    ['with 500 is an outage', 500, false],
    ['with 503 is an outage', 503, false],
    ['with 599 is an outage', 599, false],
    ['with an unreadable 200 is a refusal', 200, true],
    ['with 400 is a refusal', 400, true],
    ['with 401 is a refusal', 401, true],
    ['with 404 is a refusal', 404, true],
    ['with 499 is a refusal', 499, true],
  ])('%s', (_, status, expected) => {
    expect(isRefusal(failure(status))).toBe(expected);
  });
});

describe('the back-off', () => {
  test.each<readonly [sentence: string, outages: number, random: number, expected: number]>([
    ['starts with its first span', 0, 0.5, 2_500],
    ['doubles with each outage', 1, 0.5, 5_000],
    ['doubles again', 3, 0.5, 20_000],
    ['stops at its longest span', 5, 0.5, 60_000],
    ['stays there after thousands of outages', 5_000, 0.5, 60_000],
    ['may draw no pause at all', 3, 0, 0],
  ])('%s', (_, outages, random, expected) => {
    vi.mocked(Math.random).mockReturnValue(random);
    expect(pauseMs(BACK_OFF, outages, 1)).toBe(expected);
  });

  test.each([
    ['is at least three minutes after the fifth attempt', 5, 0, 3 * MINUTE],
    ['varies by an eighth, so that pages do not return together', 14, 1, 3.375 * MINUTE],
    ['is at least 125 s after the fifteenth', 15, 0, 125 * SECOND],
  ])('%s', (_, attempts, random, expected) => {
    vi.mocked(Math.random).mockReturnValue(random);
    expect(pauseMs(BACK_OFF, 3, attempts)).toBe(expected);
  });
});

describe('the start of an attempt', () => {
  test.each<
    readonly [sentence: string, before: RetryState | undefined, isExplicit: boolean, expected: Partial<RetryState>]
  >([
    ['counts from one', undefined, false, { attempts: 1, outages: 0, refusals: 0, startedAt: START }],
    ['takes the lease', undefined, false, { isRunning: true, leaseMs: 12_000, waitMs: 0, retryAfterMs: 0 }],
    [
      'counts on, with its outages and refusals',
      retry({ attempts: 2, outages: 4, refusals: 1 }),
      false,
      { attempts: 3, outages: 4, refusals: 1 },
    ],
    ['forgets refusals where the page asked', retry({ refusals: 3, outages: 2 }), true, { refusals: 0, outages: 2 }],
    ['ends earlier pauses', retry({ waitMs: HOUR, retryAfterMs: HOUR }), false, { waitMs: 0, retryAfterMs: 0 }],
  ])('%s', (_, before, isExplicit, expected) => {
    expect(attemptStarted(before, START, { hasLock: true, isExplicit, leaseMs: 12_000 })).toMatchObject(expected);
  });
});

test('an attempt without a time limit takes the lease for a day, and can be read again', () => {
  const started = attemptStarted(undefined, START, { hasLock: false, isExplicit: false, leaseMs: Number.MAX_VALUE });
  expect(started.leaseMs).toBe(DAY);
  expect(parseRetry(started)).toEqual(started);
});

test('an attempt that fails under a back-off of a year waits for a day at most, and can be read again', () => {
  vi.spyOn(Math, 'random').mockReturnValue(0.999_999);
  const year = { firstMs: 365 * DAY, maxMs: 365 * DAY };
  const failed = attemptFailed(retry({ startedAt: START, isRunning: true }), failure(503), year, START, 0);
  expect(failed.waitMs).toBeGreaterThan(0.9 * DAY);
  expect(failed.waitMs).toBeLessThanOrEqual(DAY);
  expect(parseRetry(failed)).toEqual(failed);
});

describe('the failure of an attempt, 2 s after its start', () => {
  const NOW = START + 2 * SECOND;
  const running = (change: Partial<RetryState> = {}) => retry({ startedAt: START, isRunning: true, ...change });
  type Row = readonly [
    sentence: string,
    before: RetryState,
    status: number | undefined,
    retryAfterMs: number | undefined,
    wakeAttemptAt: number,
    expected: Partial<RetryState>,
  ];
  test.each<Row>([
    ['gives back the lease', running(), 503, undefined, 0, { isRunning: false }],
    ['draws a pause after an outage', running(), undefined, undefined, 0, { outages: 1, waitMs: 2_000 + 2_500 }],
    [
      'draws a longer pause after the next outage',
      running({ outages: 2 }),
      503,
      undefined,
      0,
      { outages: 3, waitMs: 2_000 + 10_000 },
    ],
    [
      'adds jitter to the spacing after an outage',
      running({ attempts: 5 }),
      503,
      undefined,
      0,
      { waitMs: 2_000 + 180_000 * 1.0625 },
    ],
    ['keeps the count of refusals during an outage', running({ refusals: 2 }), 503, undefined, 0, { refusals: 2 }],
    ['waits 30 s after the first refusal', running(), 400, undefined, 0, { refusals: 1, waitMs: 2_000 + 30_000 }],
    [
      'waits 2 min after the second',
      running({ refusals: 1 }),
      400,
      undefined,
      0,
      { refusals: 2, waitMs: 2_000 + 120_000 },
    ],
    [
      'waits 10 min after the third',
      running({ refusals: 2 }),
      400,
      undefined,
      0,
      { refusals: 3, waitMs: 2_000 + 600_000 },
    ],
    [
      'sets no pause after the fourth: a new set is needed',
      running({ refusals: 3 }),
      400,
      undefined,
      0,
      { refusals: 4, waitMs: 2_000 },
    ],
    ['keeps the count of outages during refusals', running({ outages: 3 }), 400, undefined, 0, { outages: 3 }],
    ['follows Retry-After', running(), 503, MINUTE, 0, { retryAfterMs: 2_000 + MINUTE }],
    ['follows Retry-After of a refusal', running(), 404, MINUTE, 0, { retryAfterMs: 2_000 + MINUTE, refusals: 1 }],
    ['follows Retry-After of a day', running(), 503, DAY, 0, { retryAfterMs: 2_000 + DAY }],
    ['follows no Retry-After beyond a day', running(), 503, 30 * DAY, 0, { retryAfterMs: 2_000 + DAY }],
    ['forgets an earlier Retry-After', running({ retryAfterMs: HOUR }), 503, undefined, 0, { retryAfterMs: 0 }],
    [
      'waits for little in a page that has just woken up',
      running({ outages: 9 }),
      undefined,
      undefined,
      NOW,
      { outages: 3, waitMs: 2_000 + 10_000 },
    ],
    [
      'waits as usual 30 s after the page woke up',
      running({ outages: 9 }),
      undefined,
      undefined,
      NOW - 30_000,
      { outages: 10, waitMs: 2_000 + 60_000 },
    ],
    [
      'does not lengthen few outages in a page that has just woken up',
      running({ outages: 1 }),
      undefined,
      undefined,
      NOW,
      { outages: 2 },
    ],
  ])('%s', (_, before, status, retryAfterMs, wakeAttemptAt, expected) => {
    expect(attemptFailed(before, failure(status, retryAfterMs), BACK_OFF, NOW, wakeAttemptAt)).toMatchObject(expected);
  });
});

describe('the next attempt', () => {
  type Row = readonly [
    sentence: string,
    retry: RetryState | undefined,
    wakeAttemptAt: number,
    isExplicit: boolean,
    afterMs: number | undefined,
    reason: NextAttempt['reason'] | undefined,
  ];
  const at = (change: Partial<RetryState>) => retry({ startedAt: START, ...change });
  test.each<Row>([
    ['is free without earlier ones', undefined, 0, false, undefined, undefined],
    ['waits for the back-off', at({ waitMs: MINUTE }), 0, false, MINUTE, 'back_off'],
    ['waits for the pause after a refusal', at({ waitMs: MINUTE, refusals: 1 }), 0, false, MINUTE, 'refused'],
    ['follows the fourth one at once', at({ attempts: 4, waitMs: MINUTE }), 0, false, MINUTE, 'back_off'],
    ['is spaced after the fifth one', at({ attempts: 5, waitMs: MINUTE }), 0, false, 180_000, 'budget'],
    ['is spaced widely up to the fourteenth', at({ attempts: 14, waitMs: MINUTE }), 0, false, 180_000, 'budget'],
    ['is spaced evenly from the fifteenth on', at({ attempts: 15, waitMs: MINUTE }), 0, false, 125_000, 'budget'],
    [
      'waits for Retry-After where that is longer',
      at({ waitMs: MINUTE, retryAfterMs: HOUR }),
      0,
      false,
      HOUR,
      'retry_after',
    ],
    [
      'waits for Retry-After rather than the budget',
      at({ attempts: 5, retryAfterMs: HOUR }),
      0,
      false,
      HOUR,
      'retry_after',
    ],
    [
      'waits for the budget rather than Retry-After',
      at({ attempts: 5, retryAfterMs: MINUTE }),
      0,
      false,
      180_000,
      'budget',
    ],
    ['ignores the back-off where the page asked', at({ waitMs: MINUTE }), 0, true, 0, 'budget'],
    ['ignores refusals where the page asked', at({ waitMs: MINUTE, refusals: 3 }), 0, true, 0, 'budget'],
    ['respects the budget where the page asked', at({ attempts: 5, waitMs: HOUR }), 0, true, 180_000, 'budget'],
    [
      'respects Retry-After where the page asked',
      at({ waitMs: HOUR, retryAfterMs: MINUTE }),
      0,
      true,
      MINUTE,
      'retry_after',
    ],
    [
      'does not wait for the back-off in a page that woke up',
      at({ waitMs: HOUR }),
      START + MINUTE,
      false,
      MINUTE,
      'woken',
    ],
    ['is not put off by waking up', at({ waitMs: MINUTE }), START + HOUR, false, MINUTE, 'back_off'],
    [
      'waits for refusals in a page that woke up',
      at({ waitMs: HOUR, refusals: 1 }),
      START + MINUTE,
      false,
      HOUR,
      'refused',
    ],
    [
      'waits for Retry-After in a page that woke up',
      at({ waitMs: HOUR, retryAfterMs: HOUR }),
      START + MINUTE,
      false,
      HOUR,
      'retry_after',
    ],
    [
      'waits for the budget in a page that woke up',
      at({ attempts: 5, waitMs: HOUR }),
      START + MINUTE,
      false,
      180_000,
      'budget',
    ],
    [
      'waits for the back-off of an attempt since the page woke up',
      at({ waitMs: HOUR }),
      START + SECOND,
      false,
      HOUR,
      'back_off',
    ],
  ])('%s', (_, state, wakeAttemptAt, isExplicit, afterMs, reason) => {
    const expected = afterMs === undefined ? undefined : { at: START + afterMs, reason };
    expect(nextAttempt(state, wakeAttemptAt, isExplicit)).toEqual(expected);
  });
});

describe('the retry state', () => {
  const state = retry({ startedAt: START });
  test.each<readonly [sentence: string, state: RetryState | undefined, now: number, isCurrent: boolean]>([
    ['counts from its start', state, START, true],
    ['counts for a day', state, START + DAY - 1, true],
    ['is void a day later', state, START + DAY, false],
    ['is void before its start: the clock was set back', state, START - 1, false],
    ['may be absent', undefined, START, false],
  ])('%s', (_, given, now, isCurrent) => {
    expect(currentRetry(given, now)).toBe(isCurrent ? given : undefined);
  });

  test.each<
    readonly [sentence: string, state: RetryState | undefined, now: number, hasLock: boolean, isLeased: boolean]
  >([
    ['is leased while an attempt runs', retry({ startedAt: START, isRunning: true }), START + 11_999, false, true],
    ['is leased no longer than the lease', retry({ startedAt: START, isRunning: true }), START + 12_000, false, false],
    ...([3_000, 60_000] as const).flatMap(
      (leaseMs) =>
        [
          [
            `is leased for the ${leaseMs} ms that its own tab needs`,
            retry({ startedAt: START, isRunning: true, leaseMs }),
            START + leaseMs - 1,
            false,
            true,
          ],
          [
            `is leased no longer than these ${leaseMs} ms`,
            retry({ startedAt: START, isRunning: true, leaseMs }),
            START + leaseMs,
            false,
            false,
          ],
        ] as const,
    ),
    ['is over if its lock is free', retry({ startedAt: START, isRunning: true }), START + 1, true, false],
    [
      'is leased to an attempt without the lock, even if the lock is free',
      retry({ startedAt: START, isRunning: true, isLocked: false }),
      START + 1,
      true,
      true,
    ],
    ['is not leased after the attempt', state, START + 1, false, false],
    ['is not leased where there is none', undefined, START, false, false],
  ])('%s', (_, given, now, hasLock, expected) => {
    expect(isLeased(given, now, hasLock)).toBe(expected);
  });

  test.each<readonly [sentence: string, state: RetryState | undefined, isUsedUp: boolean]>([
    ['is not used up where there is none', undefined, false],
    ['is not used up after three refusals', retry({ refusals: 3 }), false],
    ['is used up after four refusals', retry({ refusals: 4 }), true],
    ['is not used up by outages', retry({ outages: 99, attempts: 99 }), false],
  ])('%s', (_, given, expected) => {
    expect(isUsedUp(given)).toBe(expected);
  });
});

describe('a stored retry state', () => {
  const state = retry({ waitMs: 5, retryAfterMs: 7 });
  test.each<readonly [sentence: string, stored: unknown, expected: RetryState | undefined]>([
    ['is read as it is', state, state],
    ['is read without unknown members', { ...state, more: 1 }, state],
    ['of an earlier version has a lease of 12 s', { ...state, leaseMs: undefined }, { ...state, leaseMs: 12_000 }],
    ['may wait for two days', { ...state, waitMs: 2 * DAY }, { ...state, waitMs: 2 * DAY }],
    ['may have been asked for two days', { ...state, retryAfterMs: 2 * DAY }, { ...state, retryAfterMs: 2 * DAY }],
    ['reads as none if it is absent', undefined, undefined],
    ['reads as none if it is null', null, undefined],
    ['reads as none if it is a number', 5, undefined],
    ['reads as none if it is an array', [], undefined],
    ['reads as none if it is empty', {}, undefined],
    ['reads as none with a number for a flag', { ...state, isRunning: 1 }, undefined],
    ...(['waitMs', 'retryAfterMs'] as const).map(
      (field) =>
        [`reads as none with a ${field} of more than two days`, { ...state, [field]: 2 * DAY + 1 }, undefined] as const,
    ),
    ...(['attempts', 'outages', 'refusals', 'startedAt', 'leaseMs', 'waitMs', 'retryAfterMs'] as const).flatMap(
      (field) =>
        [
          [`reads as none with a negative ${field}`, { ...state, [field]: -1 }, undefined],
          [`reads as none with a ${field} that is no number`, { ...state, [field]: '1' }, undefined],
          [`reads as none with an infinite ${field}`, { ...state, [field]: Number.POSITIVE_INFINITY }, undefined],
          [`reads as none with an absurd ${field}`, { ...state, [field]: 1e300 }, undefined],
          [`reads as none with a ${field} of 10^15`, { ...state, [field]: 1e15 }, undefined],
        ] as const,
    ),
  ])('%s', (_, stored, expected) => {
    expect(parseRetry(stored)).toEqual(expected);
  });
});

test('attempts in any order, including explicit ones, stay within 15 in any 30 minutes', () => {
  const attempt = fc.record({
    isExplicit: fc.boolean(),
    takesMs: fc.integer({ min: 0, max: 10_000 }),
    status: fc.constantFrom(undefined, 503, 400),
    random: fc.double({ min: 0, max: 0.999, noNaN: true }),
    wakes: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(attempt, { minLength: 20, maxLength: 60 }), (attempts) => {
      const starts: number[] = [];
      let state: RetryState | undefined;
      let now = START;
      for (const { isExplicit, takesMs, status, random, wakes } of attempts) {
        vi.mocked(Math.random).mockReturnValue(random);
        const next = nextAttempt(state, wakes ? now : 0, isExplicit);
        now = Math.max(now, next?.at ?? 0);
        starts.push(now);
        state = attemptStarted(currentRetry(state, now), now, { hasLock: true, isExplicit, leaseMs: 12_000 });
        now += takesMs;
        state = attemptFailed(state, failure(status), BACK_OFF, now, wakes ? now : 0);
        expect(parseRetry(structuredClone(state))).toEqual(state);
      }
      for (const first of starts) {
        const within = starts.filter((at) => at >= first && at < first + 30 * MINUTE);
        expect(within.length).toBeLessThanOrEqual(15);
      }
    }),
  );
});
