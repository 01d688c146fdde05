/** What holds for every decision: over arbitrary records, pages and times, those that a session reaches and hostile ones. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { attemptClaimed } from '../../../src/session/rules/attempt-changes.ts';
import { type Decision, isActive, whyNoToken } from '../../../src/session/rules/decide.ts';
import type { PageState, View } from '../../../src/session/rules/page-state.ts';
import { isOfOtherUser, serviceTime } from '../../../src/session/rules/record.ts';
import { currentRetry, isLeased } from '../../../src/session/rules/retry.ts';
import { eventsFor } from '../../../src/session/rules/session-events.ts';
import type { SessionState } from '../../../src/session/rules/state.ts';
import { runsOf } from '../../support/properties.ts';
import {
  attemptOf,
  clockTimes,
  DAY,
  decisionOf,
  deepFreeze,
  leaseOf,
  NEVER,
  PAUSE,
  pages,
  seldom,
  views,
} from './fixtures.ts';

const RUNS = runsOf(500);

/** Check every decision. Its inputs are frozen, so a decision that changes them throws. */
function always(
  check: (decision: Decision, view: View, page: PageState, now: number, isExplicit: boolean) => void,
): void {
  fc.assert(
    fc.property(views, pages, clockTimes, seldom, (view, page, now, isExplicit) =>
      check(decisionOf(view, page, now, isExplicit), view, page, now, isExplicit),
    ),
    { numRuns: RUNS },
  );
}

/** The page once the decision is carried out: its events are emitted, its attempt is in progress. */
function carriedOut(page: PageState, decision: Decision, { record: { generation } }: View, now: number): PageState {
  const { start: plan, isSettled } = decision;
  const emitted = isSettled ? eventsFor(page, decision).emitted : page.emitted;
  const attempt = plan ? attemptOf(plan, now, generation) : page.attempt;
  return deepFreeze({ ...page, emitted, attempt });
}

/** The state once the attempt of a decision has started: it names the instant then. */
const startedState = ({ state, start }: Decision, now: number): SessionState =>
  start && state.next ? { ...state, next: { ...state.next, at: now } } : state;

describe('every decision', () => {
  test('is the same for the same record, page and time', () => {
    always((decision, view, page, now, isExplicit) => {
      expect(decisionOf(structuredClone(view), { ...page }, now, isExplicit)).toEqual(decision);
    });
  });

  test('returns a token only with consent, of the user of the page, who has not opted out, before it expires', () => {
    always(({ token }, { record }, page, now) => {
      if (token === undefined) return;
      expect([isActive(page), isOfOtherUser(record, page.user)]).toEqual([true, false]);
      expect(record.optedOut).toBeFalsy();
      expect(serviceTime(record, now)).toBeLessThan(record.set!.expiresAt);
      expect(token).toBe(record.set!.advertisingToken);
    });
  });

  test('announces only the token that it returns', () => {
    always((decision, _view, page) => {
      for (const [event, payload] of eventsFor(page, decision).events)
        if (event === 'token') expect(payload.advertisingToken).toBe(decision.token);
    });
  });

  test('acts only on a record that is known and settled, on a page that is active', () => {
    always(({ isSettled, need, start, wakeAt }, view, page) => {
      expect(isSettled).toBe(isActive(page) && view.isSettled);
      if (!isSettled) expect([need, start, wakeAt]).toEqual([undefined, undefined, NEVER]);
    });
  });

  test('starts one attempt at a time, of a kind that the options permit, for no other user', () => {
    always(({ start, isForeign }, { record }, page, _now, isExplicit) => {
      if (!start) return;
      expect([page.attempt, isForeign, start.isExplicit]).toEqual([undefined, false, isExplicit]);
      expect(start.kind === 'provide' ? page.canProvide && start.need : page.canRefresh && record.set).toBeTruthy();
    });
  });

  test('starts nothing before the pauses are over, unless the page asked', () => {
    always(({ start }, { record }, page, now, isExplicit) => {
      if (!start || isExplicit) return;
      expect(currentRetry(record, now)?.waitUntil ?? 0).toBeLessThanOrEqual(now);
      if (record.lease && record.lease.id === page.otherLeaseId) expect(isLeased(record, now)).toBe(false);
    });
  });

  test('starts nothing that the claim does not permit, unless another tab has the lease', () => {
    always(({ start }, { record }, _page, now, isExplicit) => {
      // No session writes an end behind the tombstone.
      if (!start || isExplicit || (record.ended && record.optedOut)) return;
      const unleased = deepFreeze({ ...record, lease: undefined });
      expect(attemptClaimed(record, start, leaseOf(now), PAUSE)(unleased)).not.toBe(unleased);
    });
  });

  test('names a next step unless the page is closed, and never an instant that has passed', () => {
    always(({ start, state: { next } }, _view, page, now) => {
      expect(next === undefined).toBe(page.isClosed);
      if (next?.at !== undefined && next.reason !== 'in_progress') expect(next.at <= now).toBe(false);
      if (start) expect(next).toEqual({ action: start.kind, reason: 'in_progress' });
    });
  });

  test('wakes after now, and no later than at the instant of its next step', () => {
    always(({ wakeAt, isSettled, state: { next } }, _view, _page, now) => {
      expect(wakeAt).toBeGreaterThan(now);
      if (isSettled && next?.at !== undefined && next.at > now) expect(wakeAt).toBeLessThanOrEqual(next.at);
    });
  });

  test('is a fixed point once it is carried out: no event, no second attempt, the same state', () => {
    always((decision, view, before, now, isExplicit) => {
      // The page calls `refresh()` only for a moment, with a fresh decision.
      if (isExplicit) return;
      const page = carriedOut(before, decision, view, now);
      const again = decisionOf(view, page, now);
      const { token, isTokenExpected, isSettled } = decision;
      expect(eventsFor(page, again)).toEqual(isSettled ? { events: [], emitted: page.emitted } : expect.anything());
      expect(again.start).toBeUndefined();
      expect([again.token, again.isTokenExpected]).toEqual([token, isTokenExpected]);
      expect(again.state).toEqual(startedState(decision, now));
    });
  });

  // Not before a set, a retry state or a lease of the future, which a clock that was set back has left: see `serviceTime`.
  test('remains valid until `wakeAt`: before that, time alone brings no event, no attempt and no other state', () => {
    fc.assert(
      fc.property(views, pages, fc.nat(), fc.double({ min: 0, max: 1, noNaN: true }), (given, before, ms, part) => {
        const { record } = given;
        const now = Math.max(0, record.receivedAt, record.retry?.countedAt ?? 0) + (ms % DAY);
        const view = { ...given, isSettled: true };
        const active = { ...before, consent: true, isClosed: false, isAway: false };
        const decision = decisionOf(view, active, now);
        const page = carriedOut(active, decision, view, now);
        const endsAt = Math.min(decision.wakeAt, now + 400 * DAY);
        const later = Math.max(now, Math.min(Math.floor(now + part * (endsAt - now)), endsAt - 1));
        const again = decisionOf(view, page, later);
        expect([again.start, again.token, again.need]).toEqual([undefined, decision.token, decision.need]);
        expect(eventsFor(page, again).events).toEqual([]);
        expect(again.state).toEqual(startedState(decision, now));
      }),
      { numRuns: RUNS },
    );
  });

  test('explains why there is no token, and has no token or key in its state', () => {
    always((decision, _view, page) => {
      expect(whyNoToken(decision, page)).toBeTruthy();
      expect(JSON.stringify(decision.state)).not.toMatch(/advertising-|refresh-token|AQEB/);
    });
  });
});
