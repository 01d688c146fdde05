/** The changes that the host makes to the record, as tables; and what holds for every record that a session can reach. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hashUser } from '../../../src/session/options.ts';
import { attemptClaimed, attemptEnded, type Outcome } from '../../../src/session/rules/attempt-changes.ts';
import {
  erased,
  loggedOut,
  optedOut,
  othersEnded,
  renderedWith,
  setByHost,
  signedIn,
} from '../../../src/session/rules/host-changes.ts';
import {
  applied,
  type Change,
  emptyRecord,
  isOfOtherUser,
  isSameSet,
  outcomeAt,
  parseRecord,
  type SessionRecord,
  serviceTime,
} from '../../../src/session/rules/record.ts';
import { wokeUp } from '../../../src/session/rules/retry.ts';
import { tokenAt } from '../../../src/token/phase.ts';
import type { Answer } from '../../../src/token/token-set.ts';
import { runsOf } from '../../support/properties.ts';
import {
  ARRIVAL,
  BASE_URL,
  bare,
  type ChangeCase,
  checkChange,
  DAY,
  DUE,
  deepFreeze,
  EXPIRES_AT,
  FRESH,
  failure,
  HOUR,
  instants,
  leaseOf,
  MINUTE,
  PROVIDE,
  REFRESH,
  record,
  retry,
  setOf,
  sets,
} from './fixtures.ts';

const SET_2 = setOf(2, DUE);
const empty = emptyRecord(BASE_URL);
const busy = { user: 'a', lease: leaseOf(DUE), retry: retry({ attempts: 3, refusals: 2 }) };

describe('an erasure', () => {
  const full = record({ ...busy, optedOut: true, ended: true, offsetMs: 7, changedAt: 5 });
  const erasedFull = (change: Partial<SessionRecord>) =>
    bare({ generation: 2, optedOut: true, offsetMs: 7, changedAt: DUE, ...change });
  const known = { acceptedUntil: EXPIRES_AT };
  const waitsForB = bare({ generation: 2, changedAt: DUE, user: 'b', retry: busy.retry });
  test.each<ChangeCase>([
    ['leaves nothing of the user but the tombstone, and the clock', full, erased, erasedFull({ changedAt: 0 })],
    ['counts a generation on an empty record', empty, erased, bare({ generation: 1 })],
    ['by logout notes when, and which sets are known', full, loggedOut(DUE), erasedFull(known)],
    ['by logout with `forget` drops what is known', full, loggedOut(DUE, true), erasedFull({})],
    ['by logout counts again', bare({ changedAt: 5 }), loggedOut(DUE), bare({ generation: 2, changedAt: DUE })],
    ['by opt-out leaves a tombstone', record(busy), optedOut(DUE), erasedFull({ ...known, offsetMs: 0 })],
    ['by sign-in waits for the user', full, signedIn('b', DUE), erasedFull({ ...known, user: 'b' })],
    ['by sign-in of the same user ends the set, too', full, signedIn('a', DUE), erasedFull({ ...known, user: 'a' })],
    ['by sign-in while `provide` is asked keeps its pauses', bare(busy), signedIn('b', DUE), waitsForB],
    ['by sign-in without a label waits for nobody', full, signedIn(undefined, DUE), erasedFull(known)],
  ])('%s', checkChange);
});

const supplied = (change: Partial<SessionRecord> = {}) =>
  record({ generation: 2, set: SET_2, receivedAt: DUE, acceptedUntil: SET_2.expiresAt, changedAt: DUE, ...change });

test('a change that changes nothing leaves the same record', () => {
  const before = record();
  expect(applied(before, (given) => given)).toBe(before);
  expect(applied(before, erased)).toEqual(erased(before));
});

describe('a set of the host', () => {
  const supply = setByHost(SET_2, DUE);
  const tombstone = (change: Partial<SessionRecord> = {}) => bare({ optedOut: true, changedAt: 5, ...change });
  const again = setByHost(setOf(1), DUE, 'a');
  const later = { acceptedUntil: SET_2.expiresAt + 1 };
  const longer = { ...setOf(1), expiresAt: EXPIRES_AT + 1 };
  const endedOfA = record({ ended: true, user: 'a' });
  const taken = record({ generation: 2, receivedAt: DUE, changedAt: DUE, user: 'a' });
  const extended = { ...taken, set: longer, acceptedUntil: longer.expiresAt };
  const { retry } = busy;
  const counts = supplied({ optedOut: true, retry: { ...retry, refusals: 0 } });
  const refreshedByHost = setByHost(SET_2, DUE, 'b', true);
  test.each<ChangeCase>([
    ['is the first', empty, supply, supplied({ generation: 1 })],
    ['replaces everything', record({ ...busy, ended: true, changedAt: 5 }), supply, supplied()],
    ['keeps the clock offset', record({ offsetMs: 7 }), supply, supplied({ offsetMs: 7 })],
    ['gets its label', record(), setByHost(SET_2, DUE, 'b'), supplied({ user: 'b' })],
    [
      'counts a generation even if it is the same set',
      supplied(),
      supply,
      supplied({ generation: 3, changedAt: DUE + 1 }),
    ],
    ['that expires early does not lower what is known', record(later), supply, supplied(later)],
    ['that the service has ended changes nothing', endedOfA, again, 'unchanged'],
    ['that the service has ended is taken for another user', record({ ended: true, user: 'b' }), again, taken],
    ['that lasts longer than the one that has ended is taken', endedOfA, setByHost(longer, DUE, 'a'), extended],
    ['is held back behind a tombstone', tombstone(), supply, supplied({ optedOut: true })],
    ['behind a tombstone counts earlier attempts, not refusals', tombstone({ retry }), supply, counts],
    ['of a host that refreshes lifts the tombstone', tombstone(), refreshedByHost, supplied({ user: 'b' })],
    ['of a host that refreshes gets its label', record(busy), refreshedByHost, supplied({ user: 'b' })],
  ])('%s', checkChange);
});

describe('a page that was rendered', () => {
  const withSet = renderedWith(SET_2, DUE);
  const forB = othersEnded('b', DUE);
  const forNobody = othersEnded(undefined, DUE);
  /** Both changes, in the order in which a page makes them. */
  const own = (given: SessionRecord) => forB(renderedWith(setOf(1), DUE, 'b')(given));
  const fenced = (change: Partial<SessionRecord> = {}) =>
    bare({ generation: 2, changedAt: DUE, user: 'b', acceptedUntil: EXPIRES_AT, ...change });
  const known = { acceptedUntil: SET_2.expiresAt };
  test.each<ChangeCase>([
    ['with a set supplies the first', empty, withSet, supplied({ generation: 1 })],
    ['with a later set replaces the other', record(busy), withSet, supplied()],
    ['with a set that expires as late as another before is old', record(known), withSet, 'unchanged'],
    ['with an old set does not undo a logout', bare({ ...known, changedAt: FRESH }), withSet, 'unchanged'],
    [
      'with a set after a logout signs in',
      fenced({ user: undefined, changedAt: 5 }),
      withSet,
      supplied({ generation: 3 }),
    ],
    ['with a set holds it back behind a tombstone', bare({ optedOut: true }), withSet, supplied({ optedOut: true })],
    ['with an old set leaves the record of a user, where the site gives no labels', record(busy), own, fenced()],
    ['for the user of the record leaves it', record({ user: 'b' }), forB, 'unchanged'],
    ['for the user of a record without a set leaves it', bare({ user: 'b' }), forB, 'unchanged'],
    ['for another user ends the record', record(busy), forB, fenced()],
    ['for a user ends a record of nobody known', record(), forB, fenced()],
    ['for a user lets an empty record wait', empty, forB, fenced({ generation: 1, acceptedUntil: 0 })],
    ['for another user keeps the tombstone', record({ optedOut: true }), forB, fenced({ optedOut: true })],
    ['for a user, with a later set', record(busy), renderedWith(SET_2, DUE, 'b'), supplied({ user: 'b' })],
    [
      'for a user labels the same set',
      record(),
      own,
      record({ generation: 2, receivedAt: DUE, changedAt: DUE, user: 'b' }),
    ],
    ['for another user ends even the same set', record({ user: 'a' }), own, fenced()],
    ['for nobody does not touch the same set', record(), renderedWith(setOf(1), DUE), 'unchanged'],
    ['for nobody ends the record of a user', record(busy), forNobody, fenced({ user: undefined })],
    ['for nobody leaves a record of nobody known', record(), forNobody, 'unchanged'],
    ['without a label ends nothing', record(busy), renderedWith(setOf(1), DUE), 'unchanged'],
  ])('%s', checkChange);
});

test.each<readonly [sentence: string, change: Change]>([
  ['a logout', loggedOut(DUE)],
  ['a sign-in', signedIn('b', DUE)],
  ['a set of the host', setByHost(SET_2, DUE)],
  ['a set that was rendered', renderedWith(SET_2, DUE)],
  ['the user of the page', othersEnded('b', DUE)],
])('%s, before a late store answered, counts unless another tab has changed the user since', (_, change) => {
  const [before, later] = [record({ changedAt: DUE }), record({ changedAt: DUE + 1 })];
  expect(change(before, before)).toEqual(change(before));
  expect(change(before, before)).not.toEqual(before);
  expect(change(later, later)).toBe(later);
});

describe('the same set', () => {
  const set = (change: object) => record({ set: { ...setOf(1), ...change } });
  test.each<readonly [sentence: string, other: SessionRecord, expected: boolean]>([
    ['is identified by generation and tokens', record({ ...busy, ended: true, offsetMs: 7 }), true],
    ['is another one after a refresh', record({ set: setOf(2) }), false],
    ['is another one if the host supplied it again', record({ generation: 2 }), false],
    ['is another one with the same refresh token', set({ advertisingToken: 'advertising-2' }), false],
    ['is another one with the same advertising token', set({ refreshToken: 'another' }), false],
    ['is another one if a refresh extended it', set({ expiresAt: EXPIRES_AT + 1 }), false],
    ['is not absent', bare(), false],
  ])('%s', (_, other, expected) => {
    expect([isSameSet(record(), other), isSameSet(other, record())]).toEqual([expected, expected]);
  });

  test('is absent from both of two records of one generation without a set', () => {
    expect(isSameSet(bare(), bare({ optedOut: true }))).toBe(true);
  });
});

test.each<readonly [sentence: string, given: SessionRecord, user: string | undefined, expected: boolean]>([
  ['on a page without a label is nobody else’s', record({ user: 'a' }), undefined, false],
  ['of the user of the page is nobody else’s', record({ user: 'a' }), 'a', false],
  ['with a set of another user is another’s', record({ user: 'a' }), 'b', true],
  ['with a set of no known user is another’s', record(), 'b', true],
  ['that waits for another user is another’s', bare({ user: 'a' }), 'b', true],
  ['that waits for nobody is nobody else’s', bare({ changedAt: DUE }), 'b', false],
  ['with the tombstone of an opt-out alone is nobody else’s', bare({ optedOut: true }), 'b', false],
])('a record %s', (_, given, user, expected) => expect(isOfOtherUser(given, user)).toBe(expected));

test.each<readonly [sentence: string, given: SessionRecord, now: number, expected: number]>([
  ['is the local time where no offset is known', record(), FRESH, FRESH],
  ['is later by the offset', record({ offsetMs: HOUR }), FRESH, FRESH + HOUR],
  ['is the local time without a set', empty, 5, 5],
  ['tolerates 5 s before the arrival of the set', record({ offsetMs: 7 }), ARRIVAL - 5_000, ARRIVAL - 4_993],
  ['is unknown further before its arrival', record(), ARRIVAL - 5_001, Number.POSITIVE_INFINITY],
])('the time of the service %s', (_, given, now, expected) => expect(serviceTime(given, now)).toBe(expected));

test.each<readonly [sentence: string, given: SessionRecord, expected: number]>([
  ['unknown at first', bare(), 0],
  ['the arrival of a set', record(), ARRIVAL],
  ['the end of an attempt without a set', bare({ retry: retry({ countedAt: DUE }) }), DUE],
  ['the later of the two', record({ retry: retry({ countedAt: DUE }) }), DUE],
  ['the arrival of a set after a failure', record({ retry: retry({ countedAt: ARRIVAL - 1 }) }), ARRIVAL],
])('the time of the last outcome is %s', (_, given, expected) => expect(outcomeAt(given)).toBe(expected));

describe('the hash of a label', () => {
  test.each([
    ['account-1', 'https://operator.example tessera', 'g50vw9lq6aqa'],
    ['', '', '2o0nywqoej8u7'],
    ['\u{1f600}', '', '3ophihdpenrh'],
  ])('of %j with the salt %j is %s', (user, salt, hash) => expect(hashUser(user, salt)).toBe(hash));

  test('differs between users, operators and sessions', () => {
    const hashes = [
      ...Array.from({ length: 10_000 }, (_, n) => hashUser(`account-${n}`, 'https://operator.example tessera')),
      hashUser('account-1', 'https://operator.example other'),
      hashUser('account-1', 'https://other.example tessera'),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});

/** A step of a user, a page or the service, taken at a time. */
interface Step {
  readonly name: string;
  readonly take: (before: SessionRecord, now: number) => SessionRecord;
}
const stepOf = (name: string, changeAt: (now: number, before: SessionRecord) => Change): Step => ({
  name,
  take: (before, now) => changeAt(now, before)(before),
});
const pause = (attempts: number) => Math.min(attempts, 5) * MINUTE;

/** An attempt from its claim to its end, `ms` later. */
const attempt = (name: string, isProvide: boolean, ms: number, outcome: Outcome) =>
  stepOf(name, (at, before) => {
    const plan = isProvide ? PROVIDE : { ...REFRESH, isExplicit: true };
    const sent = attemptClaimed(before, plan, leaseOf(at), pause)(before);
    return sent === before || (!isProvide && !before.set)
      ? () => before
      : () => attemptEnded(sent, plan, outcome, isProvide ? 'a' : undefined, pause, at + ms)(sent);
  });

const errors = fc.constantFrom(failure(), failure(400), failure(503, DAY));
const dates = fc.option(instants, { nil: undefined });
const spans = fc.integer({ min: 0, max: 10_000 });
const answers = fc.oneof(sets, fc.constant<Answer>('optout'));
const steps: fc.Arbitrary<Step> = fc.oneof(
  sets.map((set) => stepOf('setByHost', (now) => setByHost(set, now))),
  sets.map((set) => stepOf('set by a host that refreshes', (now) => setByHost(set, now, undefined, true))),
  sets.map((set) => stepOf('rendered', (now) => renderedWith(set, now, 'a'))),
  fc.constant(stepOf('rendered for another', (now) => othersEnded('a', now))),
  fc.boolean().map((forget) => stepOf('logout', (now) => loggedOut(now, forget))),
  fc.constant(stepOf('signIn', (now) => signedIn('a', now))),
  fc.constant(stepOf('optOut', optedOut)),
  fc.constant(stepOf('erased', () => erased)),
  fc.constant(stepOf('wakes', wokeUp)),
  fc.tuple(errors, spans).map(([error, ms]) => attempt('failed', false, ms, { kind: 'failed', error })),
  fc.boolean().map((isProvide) => attempt('given up', isProvide, 5, { kind: 'void' })),
  fc
    .tuple(fc.option(answers, { nil: undefined }), spans)
    .map(([answer, ms]) => attempt('provide', true, ms, answer ? { kind: 'answered', answer } : { kind: 'nobody' })),
  fc.tuple(fc.oneof(answers, fc.constant<Answer | 'ended'>('ended')), dates, spans).map(([answer, dateMs, ms]) =>
    attempt(`refresh: ${typeof answer === 'string' ? answer : 'set'}`, false, ms, {
      kind: 'answered',
      answer,
      dateMs,
    }),
  ),
);
const histories = fc.array(fc.tuple(steps, fc.integer({ min: 10_000, max: 3 * HOUR })), { maxLength: 25 });

/** Check every record of any history, with the step that made it and the record before. */
function everyRecord(visit: (after: SessionRecord, before: SessionRecord, name: string, now: number) => void): void {
  fc.assert(
    fc.property(histories, (history) => {
      let now = ARRIVAL;
      let before = empty;
      for (const [{ name, take }, ms] of history) {
        const after = deepFreeze(take(before, now));
        visit(after, before, name, now);
        before = after;
        now += ms;
      }
    }),
    { numRuns: runsOf(300) },
  );
}

describe('every record that a session can reach', () => {
  test('survives the store and the parser unchanged', () => {
    everyRecord((after) => expect(parseRecord(structuredClone(after), BASE_URL)).toEqual(after));
  });

  test('has a generation that never falls, and that rises with each act of the host', () => {
    everyRecord((after, before, name) => {
      expect(after.generation).toBeGreaterThanOrEqual(before.generation);
      const isAct = ['setByHost', 'set by a host that refreshes', 'logout', 'signIn', 'optOut', 'erased'].includes(
        name,
      );
      if (isAct && !(before.ended && after.set === before.set)) expect(after.generation).toBe(before.generation + 1);
    });
  });

  test('gives no token behind a tombstone, which only the service, or a host that acts for it, can lift', () => {
    everyRecord((after, before, name, now) => {
      if (after.optedOut) expect(tokenAt(after, now)).toBeUndefined();
      if (before.optedOut && !after.optedOut) expect(['refresh: set', 'set by a host that refreshes']).toContain(name);
    });
  });

  test('has a set only from the host, `provide` or a refresh; its end goes with it', () => {
    everyRecord((after, before, name) => {
      const isSupplied = ['setByHost', 'set by a host that refreshes', 'rendered', 'provide', 'refresh: set'].includes(
        name,
      );
      if (after.set && !isSupplied) expect(after.set).toEqual(before.set);
      if (!after.set) expect(after.ended).toBeUndefined();
      if (after.set) expect(after.acceptedUntil).toBeGreaterThanOrEqual(after.set.expiresAt);
    });
  });

  test('has a lease only while an attempt is in progress', () => {
    everyRecord((after) => expect(after.lease).toBeUndefined());
  });
});
