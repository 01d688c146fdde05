/** Which identity counts: one table over page, server's cookie, copy, former SDK, mark and record. */

import { describe, expect, test } from 'vitest';
import type { Found } from '../../../src/page/uid2/places.ts';
import {
  decide,
  type Evidence,
  hasNews,
  keptFor,
  markOf,
  type RecordView,
  suppliedBy,
  withoutIdentities,
} from '../../../src/page/uid2/precedence.ts';
import { parseTokenSet } from '../../../src/token/token-set.ts';
import { wireSet } from '../../session/fixtures.ts';
import { MINUTE, START } from '../../support/fixtures.ts';

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
  formerOptOut: { from: 'local', value: { status: 'optout' } },
  cookieOptOut: { from: 'cookie', value: { status: 'optout' } },
  serverLogout: { from: 'cookie', value: { status: 'logout' } },
} satisfies Record<string, Found | ((...given: number[]) => Found)>;

const signedIn = (actAt: number): RecordView => ({
  set: parseTokenSet(set(9)),
  actAt,
  isOptedOut: false,
  isCleared: false,
});
const signedOut = (actAt: number): RecordView => ({ actAt, isOptedOut: false, isCleared: true });
const optedOut = (actAt: number): RecordView => ({ actAt, isOptedOut: true, isCleared: true });

/** The number of a set, to compare decisions by. */
const n = (identity: unknown) =>
  (identity as { advertising_token: string }).advertising_token.slice('advertising-'.length);
const COOKIE = true;

describe('before the record has been read', () => {
  test.each<[sentence: string, found: Found[], isCookieMode: boolean, result: string]>([
    ['nothing was found', [], COOKIE, 'none'],
    ['the page outranks every other identity', [found.former, found.server, found.page], COOKIE, 'give 1, offer 1'],
    ["a server's cookie outranks a copy", [found.server, found.localCopy(NEWER)], COOKIE, 'give 2, offer 2'],
    ["the former SDK's value outranks a copy", [found.former, found.cookieCopy(NEWER)], COOKIE, 'give 3, offer 3'],
    ['of server and former SDK the later expiry counts', [found.former, found.server], COOKIE, 'give 2, offer 2'],
    ['a copy is given out, and not offered', [found.localCopy(NEWER)], false, 'give 5'],
    ['the copy of the newer act is given out', [found.localCopy(OLDER), found.cookieCopy(NEWER)], COOKIE, 'give 4'],
    ['without cookie mode no identity comes from a cookie', [found.server, found.cookieCopy(NEWER)], false, 'none'],
    ['a mark withholds the identity of the page', [found.page, found.loggedOut(NEWER)], false, 'mark logout'],
    ['an opt-out of the former SDK withholds every identity', [found.page, found.formerOptOut], false, 'mark optout'],
    [
      'an opt-out in a cookie counts without cookie mode',
      [found.localCopy(NEWER), found.cookieOptOut],
      false,
      'mark optout',
    ],
    ['a mark withholds an older copy', [found.cookieCopy(OLDER), found.loggedOut(NEWER)], COOKIE, 'mark logout'],
    ['a copy of a newer act outranks a mark', [found.cookieCopy(NEWER), found.loggedOut(OLDER)], COOKIE, 'give 4'],
    ['a logout that a server states means nothing', [found.serverLogout, found.localCopy(NEWER)], COOKIE, 'give 5'],
    ['a malformed set means nothing', [{ from: 'local', value: { advertising_token: 'alone' } }], false, 'none'],
  ])('%s', (_, values, isCookieMode, result) => {
    const { candidate, mark, offer, acts } = decide({ found: values, isCookieMode });
    const parts = [mark && `mark ${mark}`, candidate && `give ${n(candidate)}`, offer && `offer ${n(offer)}`];
    expect(parts.filter(Boolean).join(', ') || 'none').toBe(result);
    expect(acts).toEqual([]);
  });

  test('a restart gives out the identity in force if no place has one', () => {
    expect(decide({ found: [], isCookieMode: false, current: set(7) }).candidate).toEqual(set(7));
  });
});

describe('once the record has been read', () => {
  test.each<[sentence: string, found: Found[], record: RecordView | null, result: string]>([
    ['a copy replaces a record that was lost', [found.localCopy(OLDER)], null, `supply 5 of ${OLDER}`],
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
    ['a record without a time outranks every copy', [found.cookieCopy(NEWER)], signedIn(0), ''],
    ['a newer logout elsewhere ends the record', [found.loggedOut(NEWER)], signedIn(OLDER), `logOut of ${NEWER}`],
    ['an older logout does not', [found.loggedOut(OLDER)], signedIn(NEWER), ''],
    ['a newer opt-out elsewhere is recorded', [found.optedOut(NEWER)], signedIn(OLDER), `optOut of ${NEWER}`],
    ['an opt-out is recorded again if the record was lost', [found.optedOut(OLDER)], null, `optOut of ${OLDER}`],
    ['an opt-out that the service has lifted since is not', [found.optedOut(OLDER)], signedIn(NEWER), ''],
    [
      'an opt-out of the former SDK is recorded, with what waits behind it',
      [found.formerOptOut, found.page],
      signedIn(NEWER),
      'optOut of undefined, supply 1 of undefined',
    ],
    [
      'an identity behind a known mark is offered: a cached page does not undo a logout',
      [found.page, found.loggedOut(OLDER)],
      signedOut(OLDER),
      'offer 1',
    ],
    [
      'an identity behind a newer logout is offered after it',
      [found.page, found.loggedOut(NEWER)],
      signedIn(OLDER),
      `logOut of ${NEWER}, offer 1`,
    ],
    [
      'an identity behind a logout is offered if the record was lost',
      [found.page, found.loggedOut(NEWER)],
      null,
      'offer 1',
    ],
    ['an identity without a mark was offered at the start', [found.page], signedIn(NEWER), ''],
  ])('%s', (_, values, record, result) => {
    const { acts, ...rest } = decide({ found: values, isCookieMode: true, record });
    const words = acts.map((act) =>
      [act.type, 'identity' in act && n(act.identity), 'actAt' in act && `of ${act.actAt}`].filter(Boolean).join(' '),
    );
    expect(words.join(', ')).toBe(result);
    expect(rest).toEqual({});
  });
});

describe('a look at an open page', () => {
  test.each<[sentence: string, found: Found[], record: RecordView | null, result: boolean]>([
    ['a new set of a server is news', [found.server], signedIn(NEWER), true],
    ['the copy of the record is not', [found.cookieCopy(NEWER)], signedIn(NEWER), false],
    [
      'a refresh of the same login in another tab is not',
      [found.cookieCopy(NEWER, START + MINUTE)],
      signedIn(NEWER),
      false,
    ],
    ['a newer login elsewhere is', [found.cookieCopy(NEWER)], signedIn(OLDER), true],
    ['a newer logout elsewhere is', [found.loggedOut(NEWER)], signedIn(OLDER), true],
    ['a newer logout of somebody who is signed out is not', [found.loggedOut(NEWER)], signedOut(OLDER), false],
    ['a newer opt-out elsewhere is', [found.optedOut(NEWER)], signedOut(OLDER), true],
    ['an empty place is not', [], signedIn(NEWER), false],
  ])('%s', (_, values, record, result) => {
    expect(hasNews({ found: values, isCookieMode: true, record } satisfies Evidence, new Set())).toBe(result);
  });

  test('a set that was considered before is not news', () => {
    const known = new Set([found.server.value.refresh_token]);
    expect(hasNews({ found: [found.server], isCookieMode: true, record: null }, known)).toBe(false);
  });
});

test('what a page supplies is a set, an answer, an opt-out, or malformed', () => {
  expect(suppliedBy(set(1))).toEqual({ from: 'page', value: set(1) });
  expect(suppliedBy({ status: 'success', body: set(1) })).toEqual({ from: 'page', value: set(1) });
  expect(suppliedBy({ ...set(1), tessera: NEWER })).toEqual({ from: 'page', value: { ...set(1), tessera: NEWER } });
  expect(suppliedBy({ status: 'optout' })).toEqual({ from: 'page', value: { status: 'optout' } });
  for (const malformed of [undefined, null, 'text', {}, { status: 'failure' }, { advertising_token: 'alone' }])
    expect(suppliedBy(malformed)).toBeUndefined();
});

test('after a logout only marks are left of the evidence', () => {
  expect(withoutIdentities([found.page, found.formerOptOut, found.localCopy(NEWER)])).toEqual([found.formerOptOut]);
});

describe('what is kept', () => {
  test.each<
    [sentence: string, record: RecordView | null, isInForce: boolean, value: object | undefined, place?: string]
  >([
    [
      'a copy of the set in force, with the time of its login',
      signedIn(NEWER),
      true,
      { ...set(9), tessera: NEWER },
      'shared',
    ],
    ['nothing of a set that has ended', signedIn(NEWER), false, undefined],
    ['the mark of a logout', signedOut(NEWER), false, { status: 'logout', tessera: NEWER }, 'local'],
    ['the mark of an opt-out, in both places', optedOut(NEWER), false, { status: 'optout', tessera: NEWER }, 'both'],
    ['nothing without a record', null, false, undefined],
  ])('%s', (_, record, isInForce, value, place) => {
    const kept = keptFor(record, isInForce, START, false);
    expect(kept?.place).toBe(place);
    if (value) expect(kept?.value).toMatchObject(value);
    else expect(kept).toBeUndefined();
  });

  test('a mark holds no token, and a logout is marked in a cookie that hosts share', () => {
    const { value, place } = markOf('logout', NEWER, START, true);
    expect(Object.keys(value).sort()).toEqual(['identity_expires', 'refresh_expires', 'status', 'tessera']);
    expect(place).toBe('both');
  });
});
