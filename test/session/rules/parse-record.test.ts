/** The parser of the stored record: what it reads, and everything that it reads as absent. */

import { describe, expect, test } from 'vitest';
import { erased } from '../../../src/session/rules/host-changes.ts';
import { applied, emptyRecord, parseRecord, type SessionRecord } from '../../../src/session/rules/record.ts';
import { ARRIVAL, BASE_URL, bare, DAY, DUE, leaseOf, record, retry, setOf } from './fixtures.ts';

const YEAR = 365 * DAY;
const empty = emptyRecord(BASE_URL);
const whole = record({
  changedAt: 5,
  offsetMs: -7,
  user: 'z19',
  ended: true,
  optedOut: true,
  lease: leaseOf(DUE),
  retry: retry({ waitUntil: 5, reason: 'refused' }),
});
const parse = (stored: unknown) => parseRecord(structuredClone(stored), BASE_URL);

test.each<readonly [sentence: string, stored: unknown, expected: SessionRecord]>([
  ['is read as it is', whole, whole],
  ['may have nothing but what is required', bare(), bare()],
  ['keeps unknown members: a later version may need them', { ...whole, more: 1 }, { ...whole, more: 1 } as never],
  ['loses unknown members of its set', { ...whole, set: { ...setOf(1), more: 1 } }, whole],
  ['may have a negative offset', { ...whole, offsetMs: -DAY }, { ...whole, offsetMs: -DAY }],
  ['may have a negative offset without a set', bare({ offsetMs: -3 * YEAR }), bare({ offsetMs: -3 * YEAR })],
  ['may have large numbers', bare({ offsetMs: 1e14 }), bare({ offsetMs: 1e14 })],
])('a stored record %s', (_, stored, expected) => expect(parse(stored)).toEqual(expected));

describe('it reads as absent', () => {
  const withSet = (change: object) => ({ ...whole, set: { ...setOf(1), ...change } });
  const damaged = [undefined, null, true, '1', 1n, Number.NaN, Number.NEGATIVE_INFINITY, 1e15, -1e15];
  const membersOf = <T extends object>(given: T, ...names: (keyof T)[]) =>
    names.flatMap((name) => damaged.map((value) => [`${String(name)} ${value}`, { ...given, [name]: value }] as const));
  test.each<readonly [sentence: string, stored: unknown]>([
    ['if it is absent', undefined],
    ['as null', null],
    ['as a number', 5],
    ['without members', {}],
    ['with some members only', { v: 2, baseUrl: BASE_URL, generation: 3 }],
    ['without a version', { ...whole, v: undefined }],
    ['without an operator', { ...whole, baseUrl: undefined }],
    ['of an earlier version', { ...whole, v: 1 }],
    ['of a later version', { ...whole, v: 3 }],
    ['of another operator', { ...whole, baseUrl: 'https://another.example' }],
    ['with a set that is a string', { ...whole, set: 'text' }],
    ['with a set that is empty', { ...whole, set: {} }],
    ['with an advertising token that is empty', withSet({ advertisingToken: '' })],
    ['with a refresh token that is a number', withSet({ refreshToken: 5 })],
    ['with a key that is too short', withSet({ responseKeyB64: 'AAAA' })],
    ['with an instant in seconds', withSet({ refreshAt: ARRIVAL / 1_000 })],
    ['with an end before the expiry', withSet({ endsAt: DUE })],
    ['with a lease that is a number', { ...whole, lease: 5 }],
    ['with a retry state that is a string', { ...whole, retry: 'text' }],
    ['with a retry state of an unknown reason', { ...whole, retry: { ...retry(), reason: 1n } }],
    ['with a retry state of fewer attempts than none', { ...whole, retry: retry({ attempts: -1 }) }],
    ['with an offset that would keep its set valid for ever', { ...whole, offsetMs: -400 * DAY }],
    ['with a negative generation', { ...whole, generation: -1 }],
    ...membersOf(whole, 'generation', 'offsetMs', 'receivedAt', 'acceptedUntil', 'changedAt'),
    ...membersOf(leaseOf(DUE), 'id', 'at').map(
      ([what, lease]) => [`with a lease ${what}`, { ...whole, lease }] as const,
    ),
    ...membersOf(retry(), 'attempts', 'refusals', 'countedAt', 'waitUntil', 'soonestAt').map(
      ([what, state]) => [`with a retry state ${what}`, { ...whole, retry: state }] as const,
    ),
  ])('%s', (_, stored) => expect(parse(stored)).toEqual(empty));

  test('if it cannot be read', () => {
    const unreadable = {
      ...whole,
      get user(): string {
        throw new Error('unreadable');
      },
    };
    expect(parseRecord(unreadable, BASE_URL)).toEqual(empty);
  });
});

test('members that every object inherits are read neither as members of the record nor of its parts', () => {
  const inherited = {
    ...setOf(2),
    ...leaseOf(DUE),
    ...retry({ soonestAt: 1 }),
    set: setOf(2),
    ended: true,
    optedOut: true,
    user: 'b',
  };
  const partsMissing = ['set', 'lease', 'retry'].map((part) => ({ ...whole, [part]: { more: 1 } }));
  const { isLocked: _, ...lease } = whole.lease!;
  const { soonestAt: __, ...state } = whole.retry!;
  const partsLacking = { ...bare(), lease, retry: state };
  const parsed: SessionRecord[] = [];
  // Meanwhile nothing else may run: an inherited `set` also breaks `Object.defineProperty`.
  Object.assign(Object.prototype, inherited);
  for (const stored of [bare(), ...partsMissing]) parsed.push(parseRecord(stored, BASE_URL));
  const lacking = parseRecord(partsLacking, BASE_URL);
  const found = [lacking.lease?.isLocked, lacking.retry?.soonestAt, applied(bare(), erased).user];
  for (const name of Object.keys(inherited)) delete (Object.prototype as Record<string, unknown>)[name];
  expect(parsed).toEqual([bare(), empty, empty, empty]);
  expect(found).toEqual([undefined, undefined, undefined]);
});
