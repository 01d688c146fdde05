/** What pages are told of an identity: its condition, the events between two conditions, and the legacy statuses. */

import { expect, test } from 'vitest';
import {
  type Condition,
  describe,
  eventsBetween,
  type Known,
  LEGACY,
  needsLogin,
  statusBetween,
} from '../../../src/page/uid2/status.ts';
import { DAY, START } from '../../support/clock.ts';

const known = (condition: Condition, token?: string): Known => ({ condition, token });

test.each([
  ['empty', undefined, undefined, known('empty')],
  ['fresh', 'a', START + DAY, known('established', 'a')],
  ['due', 'a', START + DAY, known('established', 'a')],
  ['stale', undefined, START + DAY, known('expired')],
  ['stale', undefined, START, known('ended')],
  ['ended', 'a', START + DAY, known('ended', 'a')],
  ['optedOut', undefined, undefined, known('optedOut')],
] as const)('phase %s with token %s that ends at %s', (phase, token, endsAt, result) => {
  expect(describe(phase, token, endsAt, START)).toEqual(result);
});

test.each([
  ['empty', true],
  ['established', false],
  ['expired', false],
  ['ended', true],
  ['optedOut', false],
] as const)('%s: login required %s', (condition, login) => {
  expect(needsLogin(known(condition))).toBe(login);
});

test.each([
  ['the first identity', undefined, known('established', 'a'), ['InitCompleted'], 'established'],
  ['no identity at the start', undefined, known('empty'), ['InitCompleted'], 'empty'],
  ['an opt-out at the start', undefined, known('optedOut'), ['InitCompleted', 'OptoutReceived'], 'optedOut'],
  ['an expired identity at the start', undefined, known('expired'), ['InitCompleted'], 'expired'],
  ['an ended identity at the start', undefined, known('ended'), ['InitCompleted'], 'ended'],
  ['a login', known('empty'), known('established', 'a'), ['IdentityUpdated'], 'refreshed'],
  ['a refresh', known('established', 'a'), known('established', 'b'), ['IdentityUpdated'], 'refreshed'],
  ['a refresh after the expiry', known('expired'), known('established', 'b'), ['IdentityUpdated'], 'refreshed'],
  ['a login after the end', known('ended'), known('established', 'b'), ['IdentityUpdated'], 'refreshed'],
  ['an expiry', known('established', 'a'), known('expired'), ['IdentityUpdated'], 'expired'],
  ['the end of the refresh token', known('established', 'a'), known('ended', 'a'), ['IdentityUpdated'], 'ended'],
  ['a logout', known('established', 'a'), known('empty'), ['IdentityUpdated'], 'empty'],
  ['an opt-out', known('established', 'a'), known('optedOut'), ['OptoutReceived', 'IdentityUpdated'], 'optedOut'],
] as const)('%s', (_, before, after, events, status) => {
  expect(eventsBetween(before, after)).toEqual(events);
  expect(statusBetween(before, after)).toBe(status);
});

test('no change emits nothing', () => {
  expect(eventsBetween(known('established', 'a'), known('established', 'a'))).toEqual([]);
});

test('every status has its own number and text', () => {
  const rows = Object.values(LEGACY);
  expect(rows.map(([status]) => status).sort((one, other) => one - other)).toEqual([-4, -3, -2, -1, 0, 1, 100]);
  expect(new Set(rows.map(([, text]) => text)).size).toBe(rows.length);
});
