/** What pages are told of an identity: its condition, the events between two conditions, and the legacy statuses. */

import { expect, test } from 'vitest';
import {
  type Condition,
  eventsBetween,
  isAvailable,
  type Known,
  knownFromIdentity,
  knownFromSession,
  LEGACY_STATUS,
  needsLogin,
  statusBetween,
  textOf,
} from '../../../src/page/uid2/status.ts';
import { wireSet } from '../../session/fixtures.ts';
import { DAY, HOUR, START } from '../../support/fixtures.ts';

const known = (condition: Condition, token?: string): Known => ({ condition, token });

test.each([
  ['empty', undefined, undefined, known('none')],
  ['fresh', 'a', START + DAY, known('inForce', 'a')],
  ['due', 'a', START + DAY, known('inForce', 'a')],
  ['stale', undefined, START + DAY, known('expired')],
  ['stale', undefined, START, known('ended')],
  ['ended', 'a', START + DAY, known('ended', 'a')],
  ['optedOut', undefined, undefined, known('optedOut')],
] as const)('phase %s with token %s that ends at %s', (phase, token, endsAt, result) => {
  expect(knownFromSession(phase, token, endsAt, START)).toEqual(result);
});

test.each([
  ['none', undefined, START, known('none')],
  ['in force', wireSet(1, START), START, known('inForce', 'advertising-1')],
  ['expired', wireSet(1, START), START + HOUR, known('expired')],
  ['ended', wireSet(1, START), START + DAY, known('ended')],
] as const)('an identity that the session does not know yet: %s', (_, identity, now, result) => {
  expect(knownFromIdentity(identity, false, now)).toEqual(result);
  expect(knownFromIdentity(identity, true, now)).toEqual(known('optedOut'));
});

test.each([
  ['none', false, true],
  ['inForce', true, false],
  ['expired', true, false],
  ['ended', false, true],
  ['optedOut', false, false],
] as const)('%s: available %s, login required %s', (condition, available, login) => {
  expect([isAvailable(known(condition)), needsLogin(known(condition))]).toEqual([available, login]);
});

test.each([
  ['the first identity', undefined, known('inForce', 'a'), ['InitCompleted'], LEGACY_STATUS.established],
  ['no identity at the start', undefined, known('none'), ['InitCompleted'], LEGACY_STATUS.noIdentity],
  [
    'an opt-out at the start',
    undefined,
    known('optedOut'),
    ['InitCompleted', 'OptoutReceived'],
    LEGACY_STATUS.optedOut,
  ],
  ['an expired identity at the start', undefined, known('expired'), ['InitCompleted'], LEGACY_STATUS.expired],
  ['an ended identity at the start', undefined, known('ended'), ['InitCompleted'], LEGACY_STATUS.refreshExpired],
  ['a login', known('none'), known('inForce', 'a'), ['IdentityUpdated'], LEGACY_STATUS.established],
  ['a refresh', known('inForce', 'a'), known('inForce', 'b'), ['IdentityUpdated'], LEGACY_STATUS.refreshed],
  ['an expiry', known('inForce', 'a'), known('expired'), ['IdentityUpdated'], LEGACY_STATUS.expired],
  [
    'the end of the refresh token',
    known('inForce', 'a'),
    known('ended', 'a'),
    ['IdentityUpdated'],
    LEGACY_STATUS.refreshExpired,
  ],
  ['a logout', known('inForce', 'a'), known('none'), ['IdentityUpdated'], LEGACY_STATUS.noIdentity],
  [
    'an opt-out',
    known('inForce', 'a'),
    known('optedOut'),
    ['OptoutReceived', 'IdentityUpdated'],
    LEGACY_STATUS.optedOut,
  ],
] as const)('%s', (_, before, after, events, status) => {
  expect(eventsBetween(before, after)).toEqual(events);
  expect(statusBetween(before, after)).toBe(status);
});

test('no change emits nothing', () => {
  expect(eventsBetween(known('inForce', 'a'), known('inForce', 'a'))).toEqual([]);
});

test('every status has a text of its own', () => {
  const texts = Object.values(LEGACY_STATUS).map(textOf);
  expect(new Set(texts).size).toBe(texts.length);
});
