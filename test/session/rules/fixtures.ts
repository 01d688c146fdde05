/**
 * Builders for tests of the rules: a record, a page and a retry state, each as a complete plain value of which a case names
 * only what matters to it; and arbitrary values for property tests.
 *
 * No session, no store and no timer here: the rules are functions from values to values.
 */

import fc from 'fast-check';
import type { PageState } from '../../../src/session/rules/page-state.ts';
import { initialPage } from '../../../src/session/rules/page-state.ts';
import { parseRecord } from '../../../src/session/rules/parse-record.ts';
import { emptyRecord, type SessionRecord } from '../../../src/session/rules/record.ts';
import type { BackOff, RetryState } from '../../../src/session/rules/retry.ts';
import { TokenError } from '../../../src/token/errors.ts';
import type { TokenSet } from '../../../src/token/token-set.ts';

export const SECOND = 1_000;
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const BASE_URL = 'https://operator.example';

/** When the set of {@link record} arrived. */
export const ARRIVAL = Date.UTC(2030, 0, 15, 12);
export const REFRESH_AT = ARRIVAL + 15 * MINUTE;
export const EXPIRES_AT = ARRIVAL + HOUR;
export const ENDS_AT = ARRIVAL + DAY;

/** Instants at which that set is fresh, due and stale. */
export const FRESH = ARRIVAL + MINUTE;
export const DUE = REFRESH_AT + 5 * MINUTE;
export const STALE = EXPIRES_AT + HOUR;

export const BACK_OFF: BackOff = { firstMs: 5_000, maxMs: 120_000 };

/** Token set number `n`, issued at `at`: due after 15 minutes, valid for an hour, refreshable for a day. */
export function setOf(n: number, at = ARRIVAL): TokenSet {
  return {
    advertisingToken: `advertising-${n}`,
    refreshToken: `refresh-token-number-${String(n).padStart(6, '0')}`,
    responseKeyB64: Buffer.alloc(32, n).toString('base64'),
    refreshAt: at + 15 * MINUTE,
    expiresAt: at + HOUR,
    endsAt: at + DAY,
  };
}

/** The part of set `n` that the record keeps when the set is gone. */
export const fingerprintOf = (n: number): string => setOf(n).refreshToken.slice(-24);

/** A record that holds set 1, which arrived at {@link ARRIVAL}, except for `change`. */
export function record(change: Partial<SessionRecord> = {}): SessionRecord {
  return { ...emptyRecord(BASE_URL), generation: 1, set: setOf(1), receivedAt: ARRIVAL, ...change };
}

/** A record without a set, except for `change`. */
export function bare(change: Partial<SessionRecord> = {}): SessionRecord {
  return { ...emptyRecord(BASE_URL), generation: 1, ...change };
}

/** The retry state after one attempt that has ended and delays nothing, except for `change`. */
export function retry(change: Partial<RetryState> = {}): RetryState {
  return {
    attempts: 1,
    outages: 0,
    refusals: 0,
    startedAt: REFRESH_AT,
    isRunning: false,
    isLocked: true,
    leaseMs: 12_000,
    waitMs: 0,
    retryAfterMs: 0,
    ...change,
  };
}

/** A visible page with consent that has read its store, may refresh and has no `provide`, except for `change`. */
export function page(change: Partial<PageState> = {}): PageState {
  return { ...initialPage(false, true, 'memory'), consent: 'granted', isCurrent: true, isKnown: true, ...change };
}

/** An error of an attempt: the service answered with `status`, or nothing came. */
export function failure(status?: number, retryAfterMs?: number): TokenError {
  return new TokenError(status ? 'http_status' : 'network', undefined, { status, retryAfterMs });
}

/** Freeze a value with everything in it, so that a function that changes its input throws. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

/** Instants where something changes, next to them, and anywhere within two days. */
export const instants = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(ARRIVAL, FRESH, REFRESH_AT, DUE, EXPIRES_AT, STALE, ENDS_AT, ENDS_AT + DAY),
      fc.integer({ min: -1, max: 1 }),
    )
    .map(([at, delta]) => at + delta),
  fc.integer({ min: ARRIVAL - 2 * DAY, max: ARRIVAL + 3 * DAY }),
);

const spans = fc.oneof(fc.constantFrom(0, 30 * SECOND, 2 * MINUTE, DAY), fc.integer({ min: 0, max: DAY }));

const retries = fc.record({
  attempts: fc.integer({ min: 1, max: 30 }),
  outages: fc.integer({ min: 0, max: 30 }),
  refusals: fc.integer({ min: 0, max: 6 }),
  startedAt: instants,
  isRunning: fc.boolean(),
  isLocked: fc.boolean(),
  leaseMs: spans,
  waitMs: spans,
  retryAfterMs: fc.oneof(fc.constant(0), spans),
});

export const sets: fc.Arbitrary<TokenSet> = fc
  .tuple(fc.integer({ min: 1, max: 5 }), instants)
  .map(([n, at]) => setOf(n, at));

/** Records as sessions write them, and combinations that none writes. */
const plausibleRecords = fc
  .record({
    generation: fc.integer({ min: 0, max: 3 }),
    offsetMs: fc.oneof(fc.constant(0), fc.integer({ min: -2 * HOUR, max: 2 * HOUR })),
    set: optional(sets),
    ended: optional(fc.constant(true)),
    optedOut: optional(fc.constant(true)),
    receivedAt: optional(instants),
    clearedAt: optional(instants),
    fingerprints: optional(fc.array(fc.integer({ min: 1, max: 5 }).map(fingerprintOf))),
    retry: optional(retries),
  })
  .map((given): SessionRecord => ({ v: 2, baseUrl: BASE_URL, ...given }));

const numbers = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constantFrom(0, -1, 1e12, 1e15, Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE),
);
const positives = numbers.map(Math.abs);
const setInstants = fc.oneof(fc.double({ min: 1e12, max: 1e15, noNaN: true }), fc.constantFrom(1e12, 1e15, ARRIVAL));

/** Whatever passes the parser: the numbers are not bound to any clock. */
const hostileRecords = fc
  .record({
    v: fc.constant(2),
    baseUrl: fc.constant(BASE_URL),
    generation: fc.integer({ min: -1e14, max: 1e14 }),
    offsetMs: numbers,
    set: optional(
      fc.tuple(setInstants, setInstants, setInstants).map((three) => {
        const [refreshAt, expiresAt, endsAt] = three.toSorted((a, b) => a - b);
        return { ...setOf(1), refreshAt, expiresAt, endsAt };
      }),
    ),
    ended: fc.anything(),
    optedOut: fc.anything(),
    receivedAt: numbers,
    clearedAt: numbers,
    retry: optional(
      fc.record({
        attempts: positives,
        outages: positives,
        refusals: positives,
        startedAt: positives,
        isRunning: fc.boolean(),
        isLocked: fc.boolean(),
        waitMs: fc.double({ min: 0, max: 2 * DAY, noNaN: true }),
        retryAfterMs: fc.double({ min: 0, max: 2 * DAY, noNaN: true }),
      }),
    ),
  })
  .map((stored) => parseRecord(stored, BASE_URL)!);

export const records = fc.oneof({ weight: 3, arbitrary: plausibleRecords }, { weight: 1, arbitrary: hostileRecords });

/** Local instants as a clock may show them. */
export const clockTimes = fc.oneof(
  { weight: 4, arbitrary: instants },
  { weight: 1, arbitrary: fc.double({ min: 0, max: 1e15, noNaN: true }) },
);

const plans = fc.constantFrom(
  { kind: 'refresh', isExplicit: false, ignoresLock: false } as const,
  { kind: 'refresh', isExplicit: true, ignoresLock: true } as const,
  { kind: 'provide', reason: 'empty', ignoresLock: false } as const,
);
const pageInstants = fc.oneof(fc.constant(0), instants, fc.constantFrom(Number.POSITIVE_INFINITY, -1));
const flags = fc.boolean();

/** Pages in every combination of their members, also those that no session reaches. */
export const pages: fc.Arbitrary<PageState> = fc.record({
  canProvide: flags,
  canRefresh: fc.oneof(fc.constant(true), flags),
  consent: fc.oneof(fc.constant('granted' as const), fc.constantFrom('pending', 'granted', 'refused')),
  isClosed: fc.oneof(fc.constant(false), fc.constant(false), flags),
  isAway: fc.oneof(fc.constant(false), fc.constant(false), flags),
  hiddenAt: fc.constantFrom(0, FRESH),
  callers: fc.integer({ min: 0, max: 2 }),
  persistence: fc.constantFrom('indexeddb', 'memory'),
  isCurrent: fc.oneof(fc.constant(true), flags),
  isKnown: flags,
  writes: fc.constantFrom(0, 0, 0, 1),
  absences: fc.integer({ min: 0, max: 2 }),
  attempt: optional(fc.record({ plan: plans, generation: fc.integer({ min: 0, max: 3 }), startedAt: instants })),
  provideResult: fc.constantFrom(undefined, 'nobody', 'failed'),
  lockRefusals: fc.integer({ min: 0, max: 3 }),
  otherTabUntil: pageInstants,
  fruitlessAttempts: fc.integer({ min: 0, max: 5 }),
  notBefore: pageInstants,
  wakeAttemptAt: pageInstants,
  cause: fc.constantFrom('set', 'provide', 'refresh', 'tab', 'load'),
  lastError: fc.constantFrom(undefined, failure(503), failure(400)),
  isErrorEmitted: flags,
  emitted: fc.record({
    token: fc.constantFrom(undefined, 'advertising-1', 'advertising-2'),
    optedOut: optional(flags),
    ended: optional(flags),
    need: optional(flags),
  }),
});
