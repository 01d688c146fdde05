/** What changes for a page when the record that it has seen is another one. */

import { describe, expect, test } from 'vitest';
import { loggedOut, optedOut, setByHost, signedIn } from '../../../src/session/rules/host-changes.ts';
import { type Cause, type PageState, pageStateAfter } from '../../../src/session/rules/page-state.ts';
import type { SessionRecord } from '../../../src/session/rules/record.ts';
import { TokenError } from '../../../src/token/errors.ts';
import { bare, DUE, deepFreeze, failure, page, record, setOf } from './fixtures.ts';

const busy = page({
  cause: 'set',
  lastError: failure(503),
  provideResult: 'failed',
  emitted: { token: 'advertising-1', need: true },
});

/** The last failure no longer matters. */
const changed = { lastError: undefined, provideResult: undefined };
/** The page may be asked for a set, if one is needed. */
const asks = { ...changed, emitted: { token: 'advertising-1', need: false } };
/** Nobody is asked for a set. */
const silent = { ...changed, provideResult: 'nobody' as const, emitted: { token: 'advertising-1', need: true } };
/** The page is asked for a set, and told why `provide` is not. */
const refused = { ...asks, provideResult: 'nobody' as const, lastError: new TokenError('opted_out') };
/** The need that was reported stays reported. */
const stays = { ...changed, emitted: { token: 'advertising-1', need: true } };

const held = record();
const heldBack = record({ optedOut: true });
const logout = loggedOut(DUE);
const optOut = optedOut(DUE);

describe('another record', () => {
  type Case = readonly [
    string,
    before: SessionRecord,
    after: SessionRecord,
    cause: Cause,
    expected: Partial<PageState>,
  ];
  test.each<Case>([
    ['with a refreshed set satisfies the need', held, record({ set: setOf(2) }), 'refresh', asks],
    ['with a set of the host does so, too', held, setByHost(setOf(2), DUE)(held), 'set', asks],
    ['with a set after a logout does so, too', logout(held), setByHost(setOf(2), DUE)(logout(held)), 'tab', asks],
    ['with another set behind the tombstone does so, too', heldBack, { ...heldBack, set: setOf(2) }, 'refresh', asks],
    ['with a set of an erased store does so, too', record({ generation: 2 }), held, 'tab', asks],
    ['whose set is gone without an act is a new need', held, bare(), 'tab', asks],
    ['whose set was erased is a new need', held, bare({ generation: 2 }), 'set', asks],
    ['without a set for the same user is no new need', bare(), bare({ generation: 2 }), 'set', stays],
    ['without a set for another user is a new need', bare(), bare({ user: 'b', generation: 2 }), 'set', asks],
    ['after a logout asks nobody', held, logout(held), 'tab', silent],
    ['after a logout without a set asks nobody', bare(), logout(bare()), 'set', silent],
    ['after a sign-in without a label asks nobody', held, signedIn(undefined, DUE)(held), 'set', silent],
    ['after a sign-in with a label asks for the set of that user', held, signedIn('b', DUE)(held), 'set', asks],
    ['of a store that was erased asks nobody', held, bare({ generation: 0 }), 'tab', silent],
    ['after an opt-out is a new need: another user may be signed in', held, optOut(held), 'refresh', asks],
    ['after an opt-out by the host or another tab is, too', held, optOut(held), 'tab', asks],
    ['after an opt-out by `provide` asks nobody', held, optOut(held), 'provide', silent],
    ['after the service opted out a set that was held back', heldBack, optOut(heldBack), 'refresh', refused],
    ['after the service ended a set that was held back', heldBack, bare({ optedOut: true }), 'tab', refused],
    ['after a logout behind the tombstone asks nobody', heldBack, logout(heldBack), 'tab', silent],
    ['after a logout behind an empty tombstone asks nobody', optOut(held), logout(optOut(held)), 'tab', silent],
    ['whose tombstone is gone is a new need', heldBack, bare({ generation: 2 }), 'refresh', asks],
  ])('%s', (_, before, after, cause, expected) => {
    const found = pageStateAfter(deepFreeze(busy), deepFreeze(before), deepFreeze(after), cause, false);
    expect(found).toEqual({ cause, ...expected });
  });

  test('with the same set changes nothing', () => {
    expect(pageStateAfter(busy, held, record({ ended: true, offsetMs: 7 }), 'tab', false)).toEqual({});
  });

  test.each<readonly [sentence: string, after: SessionRecord, cause: Cause, expected: Partial<PageState>]>([
    ['finds a set', held, 'load', asks],
    ['finds an earlier logout, which does not matter', logout(bare()), 'load', {}],
    ['sees what the host has changed meanwhile', held, 'set', asks],
    ['sees the logout of the host', logout(bare()), 'set', silent],
  ])('the first look at the store %s', (_, after, cause, expected) => {
    expect(pageStateAfter(busy, bare({ generation: 0 }), after, cause, true)).toEqual({ cause, ...expected });
  });
});
