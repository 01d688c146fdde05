/** Which identity counts: one table over page, server's cookie, copy, former SDK, mark and record. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Found } from '../../../src/page/uid2/places.ts';
import {
  type Candidate,
  candidateOf,
  candidateOfRecord,
  candidatesIn,
  choose,
  isNews,
  wireOf,
  withChoice,
  withNewest,
} from '../../../src/page/uid2/precedence.ts';
import { emptyRecord, type SessionRecord, serviceTime } from '../../../src/session/rules/record.ts';
import { parseTokenSet } from '../../../src/token/token-set.ts';
import { BASE_URL, wireSet } from '../../session/fixtures.ts';
import { DAY, MINUTE, START, useFakeClock } from '../../support/clock.ts';

const OLDER = START - 10 * MINUTE;
const NEWER = START - 5 * MINUTE;
const set = (n: number, at = START) => wireSet(n, at);
type Given = Omit<Found, 'from'> & { readonly from: Found['from'] | 'page' };
const found = {
  page: { from: 'page', value: set(1) },
  server: { from: 'cookie', value: set(2, START + MINUTE) },
  former: { from: 'local', value: set(3) },
  lasting: { from: 'local', value: set(3, START + DAY) },
  cookieCopy: (at: number, issuedAt = START): Given => ({
    from: 'cookie',
    value: { ...set(4, issuedAt), tessera: at },
  }),
  localCopy: (at: number): Given => ({ from: 'local', value: { ...set(5), tessera: at } }),
  undatedCopy: { from: 'local', value: { ...set(6), tessera: true } },
  decadesAhead: { from: 'local', value: { ...set(7, START + 10 * 366 * DAY), tessera: NEWER } },
  loggedOut: (at: number): Given => ({ from: 'local', value: { status: 'logout', tessera: at } }),
  optedOut: (at: number): Given => ({ from: 'local', value: { status: 'optout', tessera: at } }),
  pageOptOut: { from: 'page', value: { status: 'optout' } },
  formerOptOut: { from: 'local', value: { status: 'optout' } },
  cookieOptOut: { from: 'cookie', value: { status: 'optout' } },
  serverLogout: { from: 'cookie', value: { status: 'logout' } },
} satisfies Record<string, Given | ((...given: number[]) => Given)>;

const record = (more: Partial<SessionRecord>): SessionRecord => ({ ...emptyRecord(BASE_URL), generation: 1, ...more });
const signedIn = (changedAt: number) => record({ set: parseTokenSet(set(9)), changedAt });
const signedOut = (changedAt: number) => record({ changedAt });
const optedOut = (changedAt: number) => record({ changedAt, optedOut: true });

const candidates = (given: readonly Given[], isCookieMode: boolean): Candidate[] => [
  ...given.flatMap(({ from, value }) => (from === 'page' ? (candidateOf(value) ?? []) : [])),
  ...candidatesIn(
    given.flatMap(({ from, value }) => (from === 'page' ? [] : [{ from, value }])),
    isCookieMode,
  ),
];

const n = (token: string) => token.slice('advertising-'.length);
const COOKIE = true;

beforeEach(useFakeClock);
afterEach(() => void vi.useRealTimers());

describe('before the record has been read', () => {
  test.each<[sentence: string, found: Given[], isCookieMode: boolean, result: string]>([
    ['nothing was found', [], COOKIE, 'none'],
    ['the page outranks every other identity', [found.former, found.server, found.page], COOKIE, 'give 1'],
    ["a server's cookie outranks a copy", [found.server, found.localCopy(NEWER)], COOKIE, 'give 2'],
    ["the former SDK's value outranks a copy", [found.former, found.cookieCopy(NEWER)], COOKIE, 'give 3'],
    ["a server's cookie outranks what the former SDK has left", [found.server, found.lasting], COOKIE, 'give 2'],
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
    const choice = choose(candidates(values, isCookieMode));
    const after = withChoice(emptyRecord(BASE_URL), choice);
    const isGood = serviceTime(after, START) < Number.POSITIVE_INFINITY;
    const given = after.set && `${isGood ? 'give' : 'withhold'} ${n(after.set.advertisingToken)}`;
    expect(after.optedOut ? 'opted out' : (given ?? (choice.newest ? 'logged out' : 'none'))).toBe(result);
  });
});

/** What a record says after it has followed the newest copy or mark, and the time of that. */
const wordsOf = ({ optedOut, set, changedAt }: SessionRecord) => {
  const what = optedOut ? (set ? 'held back' : 'optout') : set ? n(set.advertisingToken) : 'logout';
  return changedAt < START ? `${what} of ${changedAt}` : what;
};

describe('once the record has been read', () => {
  const none = emptyRecord(BASE_URL);
  test.each<[sentence: string, found: Given[], record: SessionRecord, result: string]>([
    ['a copy replaces a record that was lost', [found.localCopy(OLDER)], none, `5 of ${OLDER}`],
    ['a copy of an older change changes nothing', [found.cookieCopy(OLDER)], signedIn(NEWER), 'unchanged'],
    ['a copy of the same change changes nothing', [found.cookieCopy(NEWER)], signedIn(NEWER), 'unchanged'],
    ['a copy of a newer change is adopted', [found.cookieCopy(NEWER)], signedIn(OLDER), `4 of ${NEWER}`],
    [
      'a copy of the same change that was refreshed is adopted',
      [found.cookieCopy(NEWER, START + MINUTE)],
      signedIn(NEWER),
      `4 of ${NEWER}`,
    ],
    ['a login elsewhere after a logout here is adopted', [found.cookieCopy(NEWER)], signedOut(OLDER), `4 of ${NEWER}`],
    ['a copy from before a logout is not', [found.cookieCopy(OLDER)], signedOut(NEWER), 'unchanged'],
    ['a copy without a time is not, if anything is known', [found.undatedCopy], signedOut(OLDER), 'unchanged'],
    ['a copy without a time is adopted now, if nothing is known', [found.undatedCopy], none, '6'],
    ['a newer logout elsewhere ends the record', [found.loggedOut(NEWER)], signedIn(OLDER), `logout of ${NEWER}`],
    ['an older logout does not', [found.loggedOut(OLDER)], signedIn(NEWER), 'unchanged'],
    ['the mark of the record changes nothing', [found.loggedOut(NEWER)], signedOut(NEWER), 'unchanged'],
    [
      'a newer logout is recorded for a user who is signed out: an older login elsewhere must not outrank it',
      [found.loggedOut(NEWER)],
      signedOut(OLDER),
      `logout of ${NEWER}`,
    ],
    ['a newer opt-out elsewhere is recorded', [found.optedOut(NEWER)], signedIn(OLDER), `optout of ${NEWER}`],
    ['an opt-out is recorded after a logout', [found.optedOut(NEWER)], signedOut(OLDER), `optout of ${NEWER}`],
    ['an opt-out is recorded again if the record was lost', [found.optedOut(OLDER)], none, `optout of ${OLDER}`],
    ['an opt-out that the service has lifted since is not', [found.optedOut(OLDER)], signedIn(NEWER), 'unchanged'],
    ['an opt-out without a time is recorded once', [found.formerOptOut], optedOut(OLDER), 'unchanged'],
    ['an opt-out of the former SDK is recorded', [found.formerOptOut, found.page], signedIn(NEWER), 'optout'],
    ['an opt-out that the page states now is recorded', [found.pageOptOut], signedIn(NEWER), 'optout'],
    ['a login elsewhere waits behind an opt-out', [found.cookieCopy(NEWER)], optedOut(OLDER), `held back of ${NEWER}`],
    ['what a server supplies is no copy', [found.server], signedIn(NEWER), 'unchanged'],
    ['an empty place changes nothing', [], signedIn(NEWER), 'unchanged'],
    ['a copy with implausible times changes nothing', [found.decadesAhead], signedIn(OLDER), 'unchanged'],
  ])('%s', (_, values, stored, result) => {
    const { newest } = choose(candidates(values, COOKIE));
    const after = withNewest(stored, newest);
    expect(after === stored ? 'unchanged' : wordsOf(after)).toBe(result);
    expect(isNews(stored, newest)).toBe(after !== stored);
    expect(isNews(after, newest), 'followed once').toBe(false);
  });

  test('a set from before the clock was set back has its own time, by which no token is valid', () => {
    const at = Date.now() + DAY;
    const { newest } = choose([candidateOf({ ...set(5, at), tessera: at })!]);
    expect(withNewest(none, newest)).toMatchObject({ changedAt: at, receivedAt: at });
  });
});

test('a value is a set, an answer, a copy, an opt-out, or malformed', () => {
  const answer = parseTokenSet(set(1));
  expect(candidateOf(set(1))).toEqual({ answer });
  expect(candidateOf({ status: 'success', body: set(1) })).toEqual({ answer });
  expect(candidateOf({ ...set(1), tessera: NEWER })).toEqual({ answer, changedAt: NEWER });
  expect(candidateOf({ status: 'optout' })).toEqual({ answer: 'optout' });
  for (const malformed of [undefined, null, 'text', {}, { status: 'failure' }, { advertising_token: 'alone' }])
    expect(candidateOf(malformed)).toBeUndefined();
});

test('a time that is not a number counts as before every change', () => {
  for (const tessera of ['Infinity', 'text', [], true, { toString: 1, valueOf: 1 }])
    expect(isNews(signedOut(OLDER), candidateOf({ status: 'logout', tessera }))).toBe(false);
});

test('a time more than a hundred years ahead is refused: no later change could outrank it', () => {
  const logoutAt = (tessera: number) => candidateOf({ status: 'logout', tessera });
  for (const tessera of [Date.now() + 102 * 365.25 * DAY, Number.MAX_SAFE_INTEGER, 1e300, Number.POSITIVE_INFINITY])
    expect(logoutAt(tessera)).toBeUndefined();
  // A clock that was set back to 1970 makes today's changes look decades ahead.
  expect(logoutAt(Date.now() + 99 * 365.25 * DAY)).toBeDefined();
});

test.each<[sentence: string, found: Given[], now: number, result: number]>([
  ['a copy counts by the clock', [found.localCopy(NEWER)], NEWER + MINUTE, NEWER + MINUTE],
  ['a clock that is corrected by a little is right', [found.localCopy(NEWER)], NEWER - 1_000, NEWER - 1_000],
  ['a copy from later than now: no token counts as good', [found.localCopy(NEWER)], OLDER, Number.POSITIVE_INFINITY],
  ['what the page supplies counts by the clock', [found.localCopy(NEWER), found.page], OLDER, OLDER],
  ['where nothing was found, the clock is right', [], OLDER, OLDER],
])('%s', (_, values, now, result) => {
  vi.setSystemTime(now);
  const after = withChoice(emptyRecord(BASE_URL), choose(candidates(values, false)));
  expect(serviceTime(after, now)).toBe(result);
});

describe('what is kept', () => {
  test.each<[sentence: string, record: SessionRecord, hasEnded: boolean, value: object | undefined]>([
    ['a copy of the set in force, with the time of its change', signedIn(NEWER), false, { ...set(9), tessera: NEWER }],
    ['nothing of a set that has ended', signedIn(NEWER), true, undefined],
    ['the mark of a logout', signedOut(NEWER), true, { status: 'logout', tessera: NEWER }],
    ['the mark of an opt-out', optedOut(NEWER), true, { status: 'optout', tessera: NEWER }],
    ['nothing of a record that nobody has used', record({}), true, undefined],
  ])('%s', (_, stored, hasEnded, value) => {
    const candidate = candidateOfRecord(stored, hasEnded);
    if (value) expect(wireOf(candidate!)).toMatchObject(value);
    else expect(candidate).toBeUndefined();
  });

  test('a mark contains no token, does not depend on the clock, and is read back unchanged', () => {
    const value = wireOf({ answer: 'logout', changedAt: NEWER });
    expect(wireOf({ answer: 'logout', changedAt: NEWER })).toEqual(value);
    expect(new Date(value['refresh_expires'] as number).toUTCString()).toMatch(
      /^\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT$/,
    );
    expect(Object.keys(value).sort()).toEqual(['identity_expires', 'refresh_expires', 'status', 'tessera']);
    expect(candidateOf(value)).toEqual({ answer: 'logout', changedAt: NEWER });
  });
});
