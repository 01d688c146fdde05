/** What holds for every decision: over arbitrary records, pages and times, those that a session reaches and hostile ones. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Decision, decide, explicitPlan } from '../../../src/session/rules/decide.ts';
import { noTokenError } from '../../../src/session/rules/no-token.ts';
import { isSettled, type PageState } from '../../../src/session/rules/page-state.ts';
import { isSameState, type SessionState } from '../../../src/session/rules/public-state.ts';
import { type SessionRecord, serviceTime } from '../../../src/session/rules/record.ts';
import { currentRetry } from '../../../src/session/rules/retry.ts';
import { runsOf } from '../../support/properties.ts';
import { clockTimes, DAY, deepFreeze, FRESH, page, pages, record, records } from './fixtures.ts';

const RUNS = runsOf(500);

type Check = (record: SessionRecord, page: PageState, now: number, decision: Decision) => void;

/** Check every decision. Its inputs are frozen, so a decision that changes them throws. */
function always(check: Check): void {
  fc.assert(
    fc.property(records, pages, clockTimes, (record, page, now) => {
      deepFreeze(record);
      deepFreeze(page);
      check(record, page, now, deepFreeze(decide(record, page, now)));
    }),
    { numRuns: RUNS },
  );
}

/** The page once the decision is carried out: its events are emitted, its attempt is in progress. */
function carriedOut({ generation }: SessionRecord, { page, attempt }: Decision, now: number): PageState {
  return attempt ? { ...page, attempt: { plan: attempt, generation, startedAt: now } } : page;
}

/** The page where the visitor sees it, with consent, with nothing to read or write. */
function settled(page: PageState): PageState {
  return { ...page, consent: 'granted', isClosed: false, isAway: false, isCurrent: true, writes: 0 };
}

/** The record with a set that arrived before `now`, and attempts of the last day. */
function upToDate(record: SessionRecord, now: number): SessionRecord {
  const { retry, receivedAt = 0 } = record;
  const startedAt = now - ((retry?.startedAt ?? 0) % DAY);
  return { ...record, receivedAt: Math.min(receivedAt, now), retry: retry && { ...retry, startedAt } };
}

/** The state once the attempt of a decision has started: it names the instant then. */
const startedState = ({ state, attempt }: Decision, now: number): SessionState =>
  attempt && state.next ? { ...state, next: { ...state.next, at: now } } : state;

describe('every decision', () => {
  test('is the same for the same record, page and time', () => {
    always((record, page, now, decision) => {
      expect(decide(structuredClone(record), { ...page }, now)).toEqual(decision);
    });
  });

  test('returns no token that has expired or belongs to a user who opted out', () => {
    always((record, _, now, { token }) => {
      if (token === undefined) return;
      expect(record.optedOut).toBeUndefined();
      expect(serviceTime(record, now)).toBeLessThan(record.set!.expiresAt);
      expect(token).toBe(record.set!.advertisingToken);
    });
  });

  test('returns no token on a page that is closed, is away, or has not read its store', () => {
    always((_record, page, _now, { token }) => {
      if (page.isClosed || page.isAway || !page.isCurrent) expect(token).toBeUndefined();
    });
  });

  // Fault: see the table of tokens. No session is known to hold a record with a set and no consent.
  test('returns no token without consent', () => {
    fc.assert(
      fc.property(records, pages, clockTimes, (record, page, now) => {
        if (page.consent !== 'granted') expect(decide(record, page, now).token).toBeUndefined();
      }),
      // The first example shows the fault, so that this test does not depend on chance.
      { numRuns: RUNS, examples: [[record(), page({ consent: 'refused' }), FRESH]] },
    );
  });

  test('emits only tokens that it returns', () => {
    always((_record, _page, _now, { token, events }) => {
      for (const [event, payload] of events) if (event === 'token') expect(payload.advertisingToken).toBe(token);
    });
  });

  test('emits and starts nothing while the page is not settled', () => {
    always((_record, page, _now, { events, attempt, wakeAt }) => {
      if (!isSettled(page)) expect([events, attempt, wakeAt]).toEqual([[], undefined, Number.POSITIVE_INFINITY]);
    });
  });

  test('starts at most one attempt at a time', () => {
    always((_record, page, _now, { attempt, isAttemptVoid, page: after }) => {
      if (page.attempt && !isAttemptVoid) expect(attempt).toBeUndefined();
      if (attempt) expect(after.attempt).toBeUndefined();
    });
  });

  test('starts only what the options permit', () => {
    always((_record, page, _now, { attempt }) => {
      if (attempt?.kind === 'provide') expect(page.canProvide).toBe(true);
      if (attempt?.kind === 'refresh') expect(page.canRefresh).toBe(true);
    });
  });

  test('sends nothing before the pause of its page or of the record is over, except when it woke up', () => {
    always((record, page, now, { attempt, page: after }) => {
      if (!attempt) return;
      expect(after.notBefore).toBeLessThanOrEqual(now);
      if (attempt.kind === 'provide') return;
      const retry = currentRetry(record.retry, now);
      const spacingMs = !retry || retry.attempts < 5 ? 0 : retry.attempts < 15 ? 180_000 : 125_000;
      if (retry) expect(retry.startedAt + Math.max(spacingMs, retry.retryAfterMs)).toBeLessThanOrEqual(now);
      if (retry && !page.wakeAttemptAt) expect(retry.startedAt + retry.waitMs).toBeLessThanOrEqual(now);
    });
  });

  test('names a `wakeAt` after now', () => {
    always((_record, _page, now, { wakeAt }) => {
      expect(wakeAt).toBeGreaterThan(now);
    });
  });

  test('names a next step unless the page is closed, and never an instant that has passed', () => {
    always((_record, page, now, { state: { next } }) => {
      expect(next === undefined).toBe(page.isClosed);
      if (next?.at !== undefined && next.reason !== 'in_progress') expect(next.at).toBeGreaterThan(now);
    });
  });

  test('is a fixed point once it is carried out: no event, no second attempt, the same state', () => {
    always((record, _page, now, decision) => {
      const page = carriedOut(record, decision, now);
      const again = decide(record, deepFreeze(page), now);
      expect(again.events).toEqual([]);
      expect(again.attempt).toBeUndefined();
      expect(again.isAttemptVoid).toBe(false);
      expect(again.page).toEqual(page);
      expect(again.token).toBe(decision.token);
      expect(again.wakeAt).toBe(decision.wakeAt);
      expect(again.isTokenExpected).toBe(decision.isTokenExpected);
      expect(isSameState(again.state, startedState(decision, now))).toBe(true);
    });
  });

  // A record from the future, and attempts that are void after a day, change by time alone: see the table of `wakeAt`.
  test('remains valid until `wakeAt`: before that, time alone brings no event, no attempt and no other state', () => {
    fc.assert(
      fc.property(
        records,
        pages,
        clockTimes,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (stored, given, now, part) => {
          const record = upToDate(stored, now);
          const decision = decide(record, settled(given), now);
          const page = carriedOut(record, decision, now);
          const endsAt = Math.min(decision.wakeAt, (record.retry?.startedAt ?? now + 400 * DAY) + DAY);
          const later = Math.max(now, Math.min(now + part * (endsAt - now), endsAt - 1));
          const again = decide(record, page, later);
          expect([again.events, again.attempt, again.token]).toEqual([[], undefined, decision.token]);
          expect(again.state).toEqual(startedState(decision, now));
        },
      ),
      { numRuns: RUNS },
    );
  });

  test('wakes no later than the instant of its next step', () => {
    always((_record, page, _now, { attempt, wakeAt, state: { next } }) => {
      const isTimed = ['back_off', 'budget', 'refused', 'retry_after', 'woken', 'other_tab'].includes(
        next?.reason ?? '',
      );
      if (isTimed && isSettled(page)) expect(wakeAt).toBeLessThanOrEqual(next?.at ?? Number.POSITIVE_INFINITY);
      if (attempt) expect(next).toMatchObject({ action: attempt.kind, reason: 'in_progress' });
    });
  });

  test('has no token, key or fingerprint in its state', () => {
    always((_record, _page, _now, { state }) => {
      expect(JSON.stringify(state)).not.toMatch(/advertising-|refresh-token|AQEB/);
    });
  });
});

test('an explicit refresh and the error without a token follow from any record and page', () => {
  always((record, page, now) => {
    const plan = explicitPlan(record, page, now);
    if (plan?.kind === 'provide') expect(page.canProvide).toBe(true);
    if (plan?.kind === 'refresh') expect(page.canRefresh).toBe(true);
    expect(noTokenError(record, page, now).message).not.toBe('');
  });
});
