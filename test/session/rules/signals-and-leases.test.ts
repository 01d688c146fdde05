/** What the record remembers about a cache outside of the session, and about a call of `provide` without a Web Lock. */

import { describe, expect, test } from 'vitest';
import { parseRecord } from '../../../src/session/rules/parse-record.ts';
import {
  erased,
  loggedOut,
  optedOut,
  provideClaimed,
  provideEnded,
  type SessionRecord,
  setByHost,
  setByProvide,
  signalNoted,
} from '../../../src/session/rules/record.ts';
import { bare, DUE, deepFreeze, record, setOf } from './fixtures.ts';

const LEASE = 12_000;

describe('a signal that is noted', () => {
  test.each<readonly [sentence: string, given: SessionRecord, expected: number | undefined]>([
    ['belongs to the generation of the set', record({ generation: 7 }), 7],
    ['belongs to nobody without a set', bare({ generation: 7 }), undefined],
    ['belongs to nobody if the set is held back behind an opt-out', record({ optedOut: true }), undefined],
    ['replaces the one of an earlier generation', record({ generation: 7, signalGeneration: 5 }), 7],
    ['is dropped once nobody is signed in', bare({ generation: 7, signalGeneration: 5 }), undefined],
  ])('%s', (_, given, expected) => {
    expect(signalNoted(deepFreeze(given)).signalGeneration).toBe(expected);
  });

  test('leaves the same record if nothing changes, so that nothing is written', () => {
    const noted = deepFreeze(record({ generation: 7, signalGeneration: 7 }));
    expect(signalNoted(noted)).toBe(noted);
    const empty = deepFreeze(bare());
    expect(signalNoted(empty)).toBe(empty);
  });

  test.each([
    ['a withdrawal of consent', erased],
    ['a logout', loggedOut(DUE)],
    ['a logout that forgets', loggedOut(DUE, true)],
    ['an opt-out', optedOut(DUE)],
    ['a set of the host', setByHost(setOf(2), DUE)],
  ])('outlives %s, whose generation is another one', (_, transition) => {
    const after = transition(deepFreeze(record({ generation: 7, signalGeneration: 7 })));
    expect(after.signalGeneration).toBe(7);
    expect(after.generation).not.toBe(7);
  });
});

describe('a call of `provide` without the lock', () => {
  test.each<readonly [sentence: string, provideAt: number | undefined, claims: boolean]>([
    ['is claimed if no tab has one', undefined, true],
    ['is not claimed while another tab’s runs', DUE - LEASE + 1, false],
    ['is claimed at the end of another tab’s lease', DUE - LEASE, true],
    ['is claimed if the other one is of the future: a clock was set back', DUE + 1, true],
    ['is not claimed twice in the same instant', DUE, false],
  ])('%s', (_, provideAt, claims) => {
    const given = deepFreeze(bare({ provideAt }));
    const after = provideClaimed(DUE, LEASE)(given);
    expect(after !== given).toBe(claims);
    expect(after.provideAt).toBe(claims ? DUE : provideAt);
  });

  test('is claimed if no tab has one, by a clock that starts at 0', () => {
    const given = deepFreeze(bare({ provideAt: undefined }));
    expect(provideClaimed(0, LEASE)(given).provideAt).toBe(0);
  });

  test('leaves only the lease of another tab when it has ended', () => {
    expect(provideEnded(DUE)(record({ provideAt: DUE }))).toEqual(record());
    const other = deepFreeze(bare({ provideAt: DUE + 1 }));
    expect(provideEnded(DUE)(other)).toBe(other);
  });

  test('leaves no lease when the user of the page signs in or out', () => {
    const given = bare({ provideAt: DUE });
    expect(setByHost(setOf(1), DUE)(given).provideAt).toBeUndefined();
    expect(loggedOut(DUE)(given).provideAt).toBeUndefined();
    const provided = setByProvide(given)(setOf(1), DUE)(given);
    expect([provided.set, provided.provideAt]).toEqual([setOf(1), undefined]);
  });
});

test.each([
  ['provideAt', '1'],
  ['provideAt', -1],
  ['provideAt', Number.NaN],
  ['signalGeneration', '1'],
  ['signalGeneration', 1.5],
  ['signalGeneration', 2 ** 60],
])('a stored %s of %s reads as absent, and the set is kept', (field, value) => {
  const stored = { ...record(), [field]: value };
  const parsed = parseRecord(stored, stored.baseUrl);
  expect(parsed).toHaveProperty(field, undefined);
  expect(parsed?.set).toEqual(stored.set);
});
