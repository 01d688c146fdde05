/** The label of a user, as tables: the record before, the transition, and the record after it. */

import { describe, expect, test } from 'vitest';
import { decide, explicitPlan } from '../../../src/session/rules/decide.ts';
import { parseRecord } from '../../../src/session/rules/parse-record.ts';
import {
  descendsFrom,
  emptyRecord,
  erased,
  loggedOut,
  optedOut,
  renderedWithPage,
  type SessionRecord,
  setByHost,
  setByProvide,
  setByRefreshingHost,
  type Transition,
} from '../../../src/session/rules/record.ts';
import { refreshAnswered } from '../../../src/session/rules/refresh.ts';
import { hashUser, isOfOtherUser, renderedFor, signedIn } from '../../../src/session/rules/user.ts';
import { BASE_URL, bare, DAY, DUE, deepFreeze, fingerprintOf, page, record, setOf } from './fixtures.ts';

const SET_2 = setOf(2, DUE);
const known = { fingerprints: [fingerprintOf(1)] };

describe('the hash of a label', () => {
  test.each([
    ['account-1', 'https://operator.example tessera', '1nqkk0i'],
    ['', '', 'aa2mbj'],
  ])('of %j with the salt %j is %s', (user, salt, hash) => expect(hashUser(user, salt)).toBe(hash));

  test('differs between users, operators and sessions', () => {
    const hashes = [
      ...Array.from({ length: 10_000 }, (_, n) => hashUser(`account-${n}`, 'https://operator.example tessera')),
      hashUser('account-1', 'https://operator.example other'),
      hashUser('account-1', 'https://other.example tessera'),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  test('is what the parser reads, whatever characters the label has', () => {
    for (const user of ['a', '\ud800', 'ü', '\u{1f600}', 'x'.repeat(10_000)]) {
      const labelled = record({ user: hashUser(user, '') });
      expect(parseRecord(structuredClone(labelled), BASE_URL)).toEqual(labelled);
    }
  });
});

describe('the record', () => {
  const fenced = (change: Partial<SessionRecord> = {}) =>
    bare({ generation: 2, ...known, clearedAt: DUE, user: 'b', ...change });
  test.each<readonly [string, SessionRecord, Transition, SessionRecord | 'unchanged']>([
    ['of the user of the page stays', record({ user: 'b', ...known }), renderedFor('b', DUE), 'unchanged'],
    ['of the user of the page who has no set stays', bare({ user: 'b' }), renderedFor('b', DUE), 'unchanged'],
    ['of another user is ended', record({ user: 'a', ...known, retry: undefined }), renderedFor('b', DUE), fenced()],
    ['of no known user is ended', record(known), renderedFor('b', DUE), fenced()],
    [
      'that is empty waits for the user',
      emptyRecord(BASE_URL),
      renderedFor('b', DUE),
      fenced({ generation: 1, fingerprints: undefined }),
    ],
    [
      'without a label that descends from the set of the page gets the label',
      record({ set: SET_2, ...known }),
      renderedFor('b', DUE, setOf(1)),
      record({ set: SET_2, ...known, user: 'b' }),
    ],
    [
      'of another user is ended even if it descends from the set of the page',
      record({ user: 'a', ...known }),
      renderedFor('b', DUE, setOf(1)),
      fenced(),
    ],
    [
      'of a user is ended by a page for nobody',
      record({ user: 'a', ...known }),
      renderedFor(undefined, DUE),
      fenced({ user: undefined }),
    ],
    ['of no known user stays on a page for nobody', record(known), renderedFor(undefined, DUE), 'unchanged'],
    [
      'keeps the tombstone of another user',
      bare({ optedOut: true, ...known }),
      renderedFor('b', DUE),
      fenced({ optedOut: true }),
    ],
    ['is ended by a sign-in, even of the same user', record({ user: 'b', ...known }), signedIn('b', DUE), fenced()],
    [
      'waits for nobody after a sign-in without a label',
      record({ user: 'a' }),
      signedIn(undefined, DUE),
      bare({ generation: 2, clearedAt: DUE }),
    ],
    ['loses its label by a logout', record({ user: 'a' }), loggedOut(DUE), bare({ generation: 2, clearedAt: DUE })],
    [
      'loses its label by an opt-out',
      record({ user: 'a' }),
      optedOut(DUE),
      bare({ generation: 2, clearedAt: DUE, optedOut: true }),
    ],
    ['loses its label with consent', record({ user: 'a' }), erased, bare({ generation: 2 })],
    [
      'has the label of the set that is supplied',
      record({ user: 'a', ...known }),
      setByHost(SET_2, DUE, 'b'),
      record({ generation: 2, set: SET_2, receivedAt: DUE, fingerprints: [2, 1].map(fingerprintOf), user: 'b' }),
    ],
    [
      'has the label of the set that the owner supplies',
      bare({ optedOut: true }),
      setByRefreshingHost(SET_2, DUE, 'b'),
      record({ generation: 2, set: SET_2, receivedAt: DUE, fingerprints: [fingerprintOf(2)], user: 'b' }),
    ],
    [
      'has no label if the set has none',
      record({ user: 'a', ...known }),
      setByHost(SET_2, DUE),
      record({ generation: 2, set: SET_2, receivedAt: DUE, fingerprints: [2, 1].map(fingerprintOf) }),
    ],
    [
      'keeps its label with the set of `provide`',
      bare({ user: 'b' }),
      setByProvide(bare({ user: 'b' }))(SET_2, DUE),
      record({ generation: 2, set: SET_2, receivedAt: DUE, fingerprints: [fingerprintOf(2)], user: 'b' }),
    ],
    [
      'keeps its label with the set of a refresh',
      record({ user: 'b' }),
      refreshAnswered(record({ user: 'b' }), setOf(2, DUE), undefined, DUE),
      record({ set: setOf(2, DUE), receivedAt: DUE, user: 'b' }),
    ],
  ])('%s', (_, before, transition, after) => {
    const found = transition(deepFreeze(before));
    if (after === 'unchanged') expect(found).toBe(before);
    else expect(found).toEqual(after);
  });

  test('of another user does not accept the ended set again from a cached page', () => {
    const fencedRecord = renderedFor('b', DUE)(record({ user: 'a', ...known }));
    const again = renderedFor('a', DUE + 1)(fencedRecord);
    expect(renderedWithPage(setOf(1), DUE + 1, 'a')(again)).toBe(again);
    expect(renderedWithPage(setOf(1), DUE + 31 * DAY, 'a')(again).set).toEqual(setOf(1));
  });

  test('of a former version is read, and belongs to no known user', () => {
    expect(parseRecord(record(), BASE_URL)).toHaveProperty('user', undefined);
    for (const user of [1, '', 'Alice', 'alice@example.com', 'a'.repeat(8), null])
      expect(parseRecord({ ...record(), user }, BASE_URL)).toEqual(record());
    expect(parseRecord({ ...record(), user: 'z19' }, BASE_URL)).toEqual(record({ user: 'z19' }));
  });

  test.each<readonly [string, SessionRecord, string | undefined, boolean]>([
    ['without a label of the page is nobody else’s', record({ user: 'a' }), undefined, false],
    ['of the user of the page is nobody else’s', record({ user: 'a' }), 'a', false],
    ['with a set of another user is', record({ user: 'a' }), 'b', true],
    ['with a set of no known user is', record(), 'b', true],
    ['that waits for another user is', bare({ user: 'a' }), 'b', true],
    ['that waits for nobody is not', bare({ clearedAt: DUE }), 'b', false],
    ['with the tombstone of an opt-out alone is not', bare({ optedOut: true }), 'b', false],
  ])('%s', (_, given, user, isOther) => expect(isOfOtherUser(given, user)).toBe(isOther));
});

describe('a page with a record of another user', () => {
  const foreign = page({ user: 'a' });
  const dueRecord = record({ user: 'b' });
  test('returns no token, requests nothing and emits nothing', () => {
    for (const given of [foreign, page({ user: 'a', canProvide: true })]) {
      const { token, attempt, events, state, wakeAt, isTokenExpected } = decide(dueRecord, given, DUE);
      expect([token, attempt, events, state.phase, wakeAt, isTokenExpected]).toEqual([
        undefined,
        undefined,
        [],
        'empty',
        Number.POSITIVE_INFINITY,
        false,
      ]);
      expect(explicitPlan(dueRecord, given, DUE)).toBeUndefined();
    }
  });

  test('requests a set, and says so, if the record is its own', () => {
    expect(decide(bare({ user: 'a' }), foreign, DUE).events).toEqual([['needsTokens', { reason: 'empty' }]]);
    expect(explicitPlan(record({ user: 'a' }), foreign, DUE)).toMatchObject({ kind: 'refresh' });
  });
});

test.each<readonly [string, SessionRecord, boolean]>([
  ['the set of the page itself', record(known), true],
  ['a later set that came by refreshes', record({ ...known, set: SET_2 }), true],
  ['a set that was supplied after it', record({ fingerprints: [2, 1].map(fingerprintOf), set: SET_2 }), false],
  ['no set', bare(known), false],
  ['a set without fingerprints', record({ fingerprints: undefined }), false],
])('whether a set in force came from the set of the page: %s', (_, given, descends) => {
  expect(descendsFrom(given, setOf(1))).toBe(descends);
});
