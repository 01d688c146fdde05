/**
 * Builders for tests of the rules: a record, a page and a retry state, each as a complete plain value of which a case names
 * only what matters to it; and arbitrary values for property tests.
 *
 * No session, no store and no timer here: the rules are functions from values to values.
 */

import fc from 'fast-check';
import { expect } from 'vitest';
import { attemptEnded, type Outcome } from '../../../src/session/rules/attempt-changes.ts';
import { type Decision, decide } from '../../../src/session/rules/decide.ts';
import type { Attempt, PageState, View } from '../../../src/session/rules/page-state.ts';
import {
  type Change,
  emptyRecord,
  type Lease,
  parseRecord,
  type RetryState,
  type SessionRecord,
} from '../../../src/session/rules/record.ts';
import type { Pause, Plan } from '../../../src/session/rules/retry.ts';
import { TokenError } from '../../../src/token/errors.ts';
import type { Answer, TokenSet } from '../../../src/token/token-set.ts';

export const SECOND = 1_000;
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const NEVER = Number.POSITIVE_INFINITY;

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

export const REFRESH: Plan = { kind: 'refresh', isExplicit: false };
export const PROVIDE: Plan = { kind: 'provide', need: 'empty', isExplicit: false };

/** Token set number `n`, issued at `at`: due after 15 minutes, valid for an hour, refreshable for a day. */
export function setOf(n: number, at = ARRIVAL): TokenSet {
  return {
    advertisingToken: `advertising-${n}`,
    refreshToken: `refresh-token-number-${n}`,
    responseKeyB64: Buffer.alloc(32, n).toString('base64'),
    refreshAt: at + 15 * MINUTE,
    expiresAt: at + HOUR,
    endsAt: at + DAY,
  };
}

/** A record without a set, except for `change`. */
export function bare(change: Partial<SessionRecord> = {}): SessionRecord {
  return { ...emptyRecord(BASE_URL), generation: 1, ...change };
}

/** A record that holds set 1, which arrived at {@link ARRIVAL}, except for `change`. */
export function record(change: Partial<SessionRecord> = {}): SessionRecord {
  return bare({ set: setOf(1), receivedAt: ARRIVAL, acceptedUntil: EXPIRES_AT, changedAt: ARRIVAL, ...change });
}

/** The retry state after one attempt that delays nothing, except for `change`. */
export function retry(change: Partial<RetryState> = {}): RetryState {
  return {
    attempts: 1,
    refusals: 0,
    countedAt: REFRESH_AT,
    waitUntil: 0,
    reason: 'back_off',
    soonestAt: 0,
    ...change,
  };
}

/** The lease of an attempt that began at `at`, under the Web Lock, except for `change`. */
export function leaseOf(at: number, change: Partial<Lease> = {}): Lease {
  return { id: at, at, isLocked: true, ...change };
}

export const PAUSE: Pause = () => MINUTE;

export function attemptOf(plan: Plan, startedAt: number, generation = 1): Attempt {
  return { id: 0, plan, generation, startedAt };
}

/** A visible page with consent that may refresh and has no `provide`, except for `change`. */
export function page(change: Partial<PageState> = {}): PageState {
  return {
    canProvide: false,
    canRefresh: true,
    user: undefined,
    consent: true,
    isClosed: false,
    isAway: false,
    hiddenAt: 0,
    callers: 0,
    attempt: undefined,
    provideResult: undefined,
    otherLeaseId: undefined,
    cause: 'load',
    lastError: undefined,
    emitted: {},
    ...change,
  };
}

/** Decide for a view, or for a record that has been read and is not being written. The inputs must not be changed. */
export function decisionOf(given: SessionRecord | View, page: PageState, now: number, isExplicit?: boolean): Decision {
  const view = 'record' in given ? given : ({ record: given, isSettled: true, kind: 'memory' } as const);
  return deepFreeze(decide(deepFreeze(view), deepFreeze(page), now, isExplicit));
}

/** The end of an attempt that began with the record to which it is applied. */
function ended(plan: Plan, outcome: Outcome, user: string | undefined, pause: Pause, now: number): Change {
  return (record) => attemptEnded(record, plan, outcome, user, pause, now)(record);
}

/** The answer of the service to the refresh of `sent`, with its `Date`. */
export function refreshAnswered(
  sent: SessionRecord,
  answer: Answer | 'ended',
  dateMs: number | undefined,
  pause: Pause,
  now: number,
): Change {
  return attemptEnded(sent, REFRESH, { kind: 'answered', answer, dateMs }, undefined, pause, now);
}

/** The answer of `provide` on a page of `user`; undefined: nobody is signed in. */
export function provideAnswered(
  answer: Answer | undefined,
  user: string | undefined,
  pause: Pause,
  now: number,
): Change {
  return ended(PROVIDE, answer ? { kind: 'answered', answer } : { kind: 'nobody' }, user, pause, now);
}

export function attemptFailed(plan: Plan, error: TokenError, pause: Pause, now: number): Change {
  return ended(plan, { kind: 'failed', error }, undefined, pause, now);
}

export function failure(status?: number, retryAfterMs?: number): TokenError {
  return new TokenError(status ? 'http_status' : 'network', undefined, { status, retryAfterMs });
}

/** A sentence, the record before, the change, and the whole record after it; `unchanged`: the same object. */
export type ChangeCase = readonly [
  sentence: string,
  before: SessionRecord,
  by: Change,
  after: SessionRecord | 'unchanged',
];

/** Check a change, which must leave its input as it is. */
export function checkChange(...[, before, by, after]: ChangeCase): void {
  const found = by(deepFreeze(before));
  if (after === 'unchanged') expect(found).toBe(before);
  else expect(found).toEqual(after);
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

/** Local instants as a clock may show them. */
export const clockTimes = fc.oneof(
  { weight: 4, arbitrary: instants },
  { weight: 1, arbitrary: fc.constantFrom(0, 1e15) },
);

export const sets: fc.Arbitrary<TokenSet> = fc
  .tuple(fc.integer({ min: 1, max: 5 }), instants)
  .map(([n, at]) => setOf(n, at));

const users = fc.constantFrom(undefined, undefined, 'a', 'b');

const leases = fc.record({
  id: fc.nat({ max: 2 }),
  at: instants,
  ms: fc.integer({ min: 0, max: DAY }),
  isLocked: fc.boolean(),
});

/** Records in every combination of their members, also those that no session writes. */
const plausibleRecords = fc
  .record({
    generation: fc.integer({ min: 0, max: 3 }),
    offsetMs: fc.oneof(fc.constant(0), fc.integer({ min: -2 * HOUR, max: 2 * HOUR })),
    receivedAt: fc.oneof(fc.constant(0), instants),
    acceptedUntil: fc.oneof(fc.constant(0), instants),
    changedAt: fc.oneof(fc.constant(0), instants),
    user: users,
    set: optional(sets),
    ended: fc.constantFrom(undefined, undefined, true),
    optedOut: fc.constantFrom(undefined, undefined, true),
    lease: optional(leases),
    retry: optional(
      fc.record({
        attempts: fc.integer({ min: 1, max: 30 }),
        refusals: fc.integer({ min: 0, max: 6 }),
        countedAt: instants,
        waitUntil: fc.oneof(fc.constant(0), instants),
        reason: fc.constantFrom('back_off', 'refused', 'retry_after', 'woken'),
        soonestAt: instants,
      }),
    ),
  })
  .map((given): SessionRecord => ({ ...emptyRecord(BASE_URL), ...given }));

/** Records that pass the parser, whatever another script has written. */
const numbers = fc.oneof(fc.constantFrom(0, -1, 1e15 - 1), fc.integer({ min: -1e14, max: 1e14 }));
const hostileRecords = plausibleRecords.chain((plausible) =>
  fc
    .record(
      {
        generation: numbers,
        offsetMs: numbers,
        receivedAt: numbers,
        ended: fc.anything(),
        optedOut: fc.anything(),
        user: fc.anything(),
        retry: fc.record({ attempts: numbers, refusals: numbers, countedAt: numbers, waitUntil: numbers }),
      },
      { requiredKeys: [] },
    )
    .map((change) => parseRecord({ ...plausible, ...change }, BASE_URL)),
);

export const records = fc.oneof({ weight: 3, arbitrary: plausibleRecords }, { weight: 1, arbitrary: hostileRecords });

/** True in a quarter of the cases. */
export const seldom = fc.constantFrom(false, false, false, true);

/** A page that has lost track of its store knows no record. */
export const views: fc.Arbitrary<View> = fc
  .tuple(records, fc.constantFrom(true, true, true, false), seldom)
  .map(([seen, isSettled, isUnknown]): View => {
    return isUnknown
      ? { record: emptyRecord(BASE_URL), isSettled: false, kind: 'memory' }
      : { record: seen, isSettled, kind: 'memory' };
  });

const flags = fc.boolean();

/** Pages in every combination of their members, also those that no session reaches. */
export const pages: fc.Arbitrary<PageState> = fc
  .record({
    canProvide: flags,
    canRefresh: fc.constantFrom(true, true, false),
    user: users,
    consent: fc.constantFrom(true, true, true, false, undefined),
    isClosed: seldom,
    isAway: seldom,
    hiddenAt: fc.constantFrom(0, FRESH),
    callers: fc.integer({ min: 0, max: 2 }),
    attempt: optional(
      fc
        .tuple(fc.constantFrom<Plan>(REFRESH, { ...REFRESH, isExplicit: true }, PROVIDE), instants, fc.nat({ max: 3 }))
        .map(([plan, startedAt, generation]) => attemptOf(plan, startedAt, generation)),
    ),
    provideResult: fc.constantFrom(undefined, undefined, 'nobody', 'failed'),
    otherLeaseId: optional(fc.nat({ max: 2 })),
    cause: fc.constantFrom('set', 'provide', 'refresh', 'tab', 'load'),
    lastError: fc.constantFrom(undefined, failure(503), failure(400)),
    emitted: fc.record({
      token: fc.constantFrom(undefined, 'advertising-1', 'advertising-2'),
      optedOut: optional(flags),
      ended: optional(flags),
      need: optional(flags),
    }),
  })
  .map(page);
