/** Which identity counts: one table over page, server's cookie, copy, former SDK, mark and record. */

import { describe, expect, test } from 'vitest';
import type { DatedRecord } from '../../../src/page/uid2/dated-store.ts';
import type { Found } from '../../../src/page/uid2/places.ts';
import {
  type Claim,
  choose,
  claimOf,
  claimOfRecord,
  claimsIn,
  claimsToFollow,
  heldBy,
  tokenTime,
  wireOf,
} from '../../../src/page/uid2/precedence.ts';
import { parseTokenSet } from '../../../src/token/token-set.ts';
import { wireSet } from '../../session/fixtures.ts';
import { DAY, MINUTE, START } from '../../support/clock.ts';

const OLDER = START - 10 * MINUTE;
const NEWER = START - 5 * MINUTE;
const set = (n: number, at = START) => wireSet(n, at);
const found = {
  page: { from: 'page', value: set(1) },
  server: { from: 'cookie', value: set(2, START + MINUTE) },
  former: { from: 'local', value: set(3) },
  cookieCopy: (at: number, issuedAt = START): Found => ({
    from: 'cookie',
    value: { ...set(4, issuedAt), tessera: at },
  }),
  localCopy: (at: number): Found => ({ from: 'local', value: { ...set(5), tessera: at } }),
  loggedOut: (at: number): Found => ({ from: 'local', value: { status: 'logout', tessera: at } }),
  optedOut: (at: number): Found => ({ from: 'local', value: { status: 'optout', tessera: at } }),
  pageOptOut: { from: 'page', value: { status: 'optout' } },
  formerOptOut: { from: 'local', value: { status: 'optout' } },
  cookieOptOut: { from: 'cookie', value: { status: 'optout' } },
  serverLogout: { from: 'cookie', value: { status: 'logout' } },
} satisfies Record<string, Found | ((...given: number[]) => Found)>;

const record = (more: Partial<DatedRecord>): DatedRecord => ({ generation: 1, ...more });
const signedIn = (actAt?: number) => record({ set: parseTokenSet(set(9)), actAt });
const signedOut = (actAt: number) => record({ actAt, clearedAt: actAt });
const optedOut = (actAt: number) => record({ actAt, clearedAt: actAt, optedOut: true });

/** The number of a set, to compare decisions by. */
const n = (token: string) => token.slice('advertising-'.length);
const wordsOf = ({ answer, actAt }: Claim) => {
  const what = typeof answer === 'string' ? answer : `supply ${n(answer.advertisingToken)}`;
  return actAt < START ? `${what} of ${actAt}` : what;
};
const COOKIE = true;

describe('before the record has been read', () => {
  test.each<[sentence: string, found: Found[], isCookieMode: boolean, result: string]>([
    ['nothing was found', [], COOKIE, 'none'],
    ['the page outranks every other identity', [found.former, found.server, found.page], COOKIE, 'give 1'],
    ["a server's cookie outranks a copy", [found.server, found.localCopy(NEWER)], COOKIE, 'give 2'],
    ["the former SDK's value outranks a copy", [found.former, found.cookieCopy(NEWER)], COOKIE, 'give 3'],
    ['of server and former SDK the later expiry counts', [found.former, found.server], COOKIE, 'give 2'],
    ['a copy is given out, and not offered', [found.localCopy(NEWER)], false, 'give 5'],
    ['the copy of the newer act is given out', [found.localCopy(OLDER), found.cookieCopy(NEWER)], COOKIE, 'give 4'],
    ['without cookie mode no identity comes from a cookie', [found.server, found.cookieCopy(NEWER)], false, 'none'],
    [
      'of two copies of one login the refreshed one is given out',
      [found.localCopy(NEWER), found.cookieCopy(NEWER, START + MINUTE)],
      COOKIE,
      'give 4',
    ],
    ['a mark withholds the identity of the page', [found.page, found.loggedOut(NEWER)], false, 'withhold 1'],
    ["a mark withholds a server's cookie", [found.server, found.loggedOut(NEWER)], COOKIE, 'withhold 2'],
    ['an opt-out of the former SDK withholds every identity', [found.page, found.formerOptOut], false, 'opted out'],
    [
      'an opt-out in a cookie counts without cookie mode',
      [found.localCopy(NEWER), found.cookieOptOut],
      false,
      'opted out',
    ],
    ['a mark withholds an older copy', [found.cookieCopy(OLDER), found.loggedOut(NEWER)], COOKIE, 'logged out'],
    ['a copy of a newer act outranks a mark', [found.cookieCopy(NEWER), found.loggedOut(OLDER)], COOKIE, 'give 4'],
    ['a logout that a server states means nothing', [found.serverLogout, found.localCopy(NEWER)], COOKIE, 'give 5'],
    ['a malformed set means nothing', [{ from: 'local', value: { advertising_token: 'alone' } }], false, 'none'],
  ])('%s', (_, values, isCookieMode, result) => {
    const choice = choose(claimsIn(values, isCookieMode));
    const held = heldBy(choice);
    const isGood = tokenTime(choice, START) < Number.POSITIVE_INFINITY;
    const given = held.set && `${isGood ? 'give' : 'withhold'} ${n(held.set.advertisingToken)}`;
    expect(held.optedOut ? 'opted out' : (given ?? (choice.newest ? 'logged out' : 'none'))).toBe(result);
  });
});

describe('once the record has been read', () => {
  test.each<[sentence: string, found: Found[], record: DatedRecord | undefined, result: string]>([
    ['a copy replaces a record that was lost', [found.localCopy(OLDER)], undefined, `supply 5 of ${OLDER}`],
    ['a copy of an older act changes nothing', [found.cookieCopy(OLDER)], signedIn(NEWER), ''],
    ['a copy of the same act changes nothing', [found.cookieCopy(NEWER)], signedIn(NEWER), ''],
    ['a copy of a newer act is adopted', [found.cookieCopy(NEWER)], signedIn(OLDER), `supply 4 of ${NEWER}`],
    [
      'a copy of the same act that was refreshed is adopted',
      [found.cookieCopy(NEWER, START + MINUTE)],
      signedIn(NEWER),
      `supply 4 of ${NEWER}`,
    ],
    [
      'a login elsewhere after a logout here is adopted',
      [found.cookieCopy(NEWER)],
      signedOut(OLDER),
      `supply 4 of ${NEWER}`,
    ],
    ['a copy from before a logout is not', [found.cookieCopy(OLDER)], signedOut(NEWER), ''],
    ['a record without a time outranks every copy', [found.cookieCopy(NEWER)], signedIn(), ''],
    ['a newer logout elsewhere ends the record', [found.loggedOut(NEWER)], signedIn(OLDER), `logout of ${NEWER}`],
    ['an older logout does not', [found.loggedOut(OLDER)], signedIn(NEWER), ''],
    ['the mark of the record changes nothing', [found.loggedOut(NEWER)], signedOut(NEWER), ''],
    [
      'a newer logout is recorded for a user who is signed out: an older login elsewhere must not outrank it',
      [found.loggedOut(NEWER)],
      signedOut(OLDER),
      `logout of ${NEWER}`,
    ],
    ['a newer opt-out elsewhere is recorded', [found.optedOut(NEWER)], signedIn(OLDER), `optout of ${NEWER}`],
    ['an opt-out is recorded after a logout', [found.optedOut(NEWER)], signedOut(OLDER), `optout of ${NEWER}`],
    ['an opt-out is recorded again if the record was lost', [found.optedOut(OLDER)], undefined, `optout of ${OLDER}`],
    ['an opt-out that the service has lifted since is not', [found.optedOut(OLDER)], signedIn(NEWER), ''],
    ['an opt-out without a time is recorded once', [found.formerOptOut], optedOut(OLDER), ''],
    [
      'an opt-out of the former SDK is recorded, with what waits behind it',
      [found.formerOptOut, found.page],
      signedIn(NEWER),
      'optout, supply 1',
    ],
    [
      'an identity behind a newer logout is supplied after it',
      [found.page, found.loggedOut(NEWER)],
      signedIn(OLDER),
      `logout of ${NEWER}, supply 1`,
    ],
    ['a new set of a server is adopted', [found.server], signedIn(NEWER), 'supply 2'],
    ['an opt-out that the page states now is recorded', [found.pageOptOut], signedIn(), 'optout'],
    ['an empty place changes nothing', [], signedIn(NEWER), ''],
  ])('%s', (_, values, stored, result) => {
    const news = claimsToFollow(choose(claimsIn(values, COOKIE)), stored, new Set());
    expect(news.map(wordsOf).join(', ')).toBe(result);
  });

  test('a set that the session was given before changes nothing', () => {
    const known = new Set([found.server.value.refresh_token]);
    expect(claimsToFollow(choose(claimsIn([found.server], COOKIE)), undefined, known)).toEqual([]);
  });
});

test('a page’s value is a set, an answer, a copy, an opt-out, or malformed', () => {
  const supplied = (value: unknown) => claimOf({ from: 'page', value });
  const answer = parseTokenSet(set(1));
  expect(supplied(set(1))).toEqual({ answer, actAt: Number.POSITIVE_INFINITY });
  expect(supplied({ status: 'success', body: set(1) })).toEqual({ answer, actAt: Number.POSITIVE_INFINITY });
  expect(supplied({ ...set(1), tessera: NEWER })).toEqual({ answer, actAt: NEWER });
  expect(supplied({ status: 'optout' })).toEqual({ answer: 'optout', actAt: Number.POSITIVE_INFINITY });
  for (const malformed of [undefined, null, 'text', {}, { status: 'failure' }, { advertising_token: 'alone' }])
    expect(supplied(malformed)).toBeUndefined();
});

test('a time that is not a number counts as before every act', () => {
  for (const tessera of ['Infinity', 'text', [], true, { toString: 1, valueOf: 1 }]) {
    const claim = claimOf({ from: 'cookie', value: { status: 'logout', tessera } })!;
    expect(claimsToFollow({ newest: claim }, signedOut(OLDER), new Set())).toEqual([]);
  }
});

test('a time more than a hundred years ahead is refused: no later act could outrank it', () => {
  const logoutAt = (tessera: number) => claimOf({ from: 'cookie', value: { status: 'logout', tessera } });
  for (const tessera of [Date.now() + 102 * 365.25 * DAY, Number.MAX_SAFE_INTEGER, 1e300, Number.POSITIVE_INFINITY])
    expect(logoutAt(tessera)).toBeUndefined();
  // A clock that was set back to 1970 makes today's acts look decades ahead.
  expect(logoutAt(Date.now() + 99 * 365.25 * DAY)).toBeDefined();
});

test.each<[sentence: string, found: Found[], now: number, result: number]>([
  ['a copy counts by the clock', [found.localCopy(NEWER)], NEWER + MINUTE, NEWER + MINUTE],
  ['a clock that is corrected by a little is right', [found.localCopy(NEWER)], NEWER - 1_000, NEWER - 1_000],
  ['a copy from later than now: no token counts as good', [found.localCopy(NEWER)], OLDER, Number.POSITIVE_INFINITY],
  ['what the page supplies counts by the clock', [found.localCopy(NEWER), found.page], OLDER, OLDER],
  ['where nothing was found, the clock is right', [], OLDER, OLDER],
])('%s', (_, values, now, result) => {
  expect(tokenTime(choose(claimsIn(values, false)), now)).toBe(result);
});

describe('what is kept', () => {
  test.each<[sentence: string, record: DatedRecord | undefined, isInForce: boolean, value: object | undefined]>([
    ['a copy of the set in force, with the time of its login', signedIn(NEWER), true, { ...set(9), tessera: NEWER }],
    ['nothing of a set that has ended', signedIn(NEWER), false, undefined],
    ['the mark of a logout', signedOut(NEWER), false, { status: 'logout', tessera: NEWER }],
    ['the mark of an opt-out', optedOut(NEWER), false, { status: 'optout', tessera: NEWER }],
    ['nothing of a record that nobody has used', record({}), false, undefined],
    ['nothing without a record', undefined, false, undefined],
  ])('%s', (_, stored, isInForce, value) => {
    const claim = claimOfRecord(stored, isInForce);
    if (value) expect(wireOf(claim!)).toMatchObject(value);
    else expect(claim).toBeUndefined();
  });

  test('a mark contains no token, does not depend on the clock, and is read back unchanged', () => {
    const value = wireOf({ answer: 'logout', actAt: NEWER });
    expect(wireOf({ answer: 'logout', actAt: NEWER })).toEqual(value);
    expect(new Date(value['refresh_expires'] as number).toUTCString()).toMatch(
      /^\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT$/,
    );
    expect(Object.keys(value).sort()).toEqual(['identity_expires', 'refresh_expires', 'status', 'tessera']);
    expect(claimOf({ from: 'local', value })).toEqual({ answer: 'logout', actAt: NEWER });
  });
});
