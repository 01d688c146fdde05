/** The parser of the stored record: each version, and each field damaged. */

import { describe, expect, test } from 'vitest';
import { parseRecord } from '../../../src/session/rules/parse-record.ts';
import type { SessionRecord } from '../../../src/session/rules/record.ts';
import { ARRIVAL, BASE_URL, bare, DUE, fingerprintOf, record, retry, setOf } from './fixtures.ts';

const whole = record({ fingerprints: [fingerprintOf(1)], clearedAt: 5, offsetMs: -7, retry: retry({ waitMs: 5 }) });
const HUNDRED_YEARS = 100 * 365 * 86_400_000;
const { set: _set, retry: _retry, ...others } = whole;

describe('a stored record', () => {
  const many = Array.from({ length: 40 }, (_, n) => fingerprintOf(n));
  test.each<readonly [sentence: string, stored: unknown, expected: SessionRecord | undefined]>([
    ['is read as it is', whole, whole],
    ['may have nothing but what is required', bare(), bare()],
    ['loses unknown members', { ...whole, more: 1 }, whole],
    ['may be absent', undefined, undefined],
    ['may be null', null, undefined],
    ['of another operator reads as absent', { ...whole, baseUrl: 'https://another.example' }, undefined],
    ['without an operator reads as absent', { ...whole, baseUrl: undefined }, undefined],
    ['without a set has no end and no attempts', { ...whole, ended: true, set: undefined }, others],
    ['with a set that is null has none', { ...whole, set: null }, others],
    [
      'without a set has attempts behind a tombstone',
      { ...whole, optedOut: true, set: undefined },
      { ...others, optedOut: true, retry: whole.retry },
    ],
    ['keeps the end of its set', { ...whole, ended: true }, { ...whole, ended: true }],
    ['takes whatever is true for the end of its set', { ...whole, ended: 1 }, { ...whole, ended: true }],
    ['takes whatever is false for no end', { ...whole, ended: 0 }, whole],
    ['takes whatever is true for an opt-out', { ...others, optedOut: 'yes' }, { ...others, optedOut: true }],
    ['takes whatever is false for no opt-out', { ...whole, optedOut: false }, whole],
    ['loses a time of receipt that is a string', { ...others, receivedAt: '5' }, { ...others, receivedAt: undefined }],
    [
      'loses a time of receipt that is infinite',
      { ...others, receivedAt: Number.POSITIVE_INFINITY },
      { ...others, receivedAt: undefined },
    ],
    ['loses a logout at no time', { ...others, clearedAt: Number.NaN }, { ...others, clearedAt: undefined }],
    ['loses a logout before 1970', { ...others, clearedAt: -1 }, { ...others, clearedAt: undefined }],
    ['loses a logout beyond the year 9999', { ...others, clearedAt: 1e15 }, { ...others, clearedAt: undefined }],
    ['loses a clock offset of a hundred years', { ...others, offsetMs: HUNDRED_YEARS }, { ...others, offsetMs: 0 }],
    [
      'loses a clock offset of a hundred years back',
      { ...others, offsetMs: -HUNDRED_YEARS },
      { ...others, offsetMs: 0 },
    ],
    [
      'keeps a shorter clock offset',
      { ...others, offsetMs: HUNDRED_YEARS - 1 },
      { ...others, offsetMs: HUNDRED_YEARS - 1 },
    ],
    ['keeps a lease of `provide`', { ...others, provideAt: 7 }, { ...others, provideAt: 7 }],
    ['keeps a logout at 0', { ...others, clearedAt: 0 }, { ...others, clearedAt: 0 }],
    ['loses damaged attempts', { ...whole, retry: { ...whole.retry, attempts: -1 } }, { ...whole, retry: undefined }],
    [
      'loses fingerprints that are no strings',
      { ...others, fingerprints: [1, 'a', null] },
      { ...others, fingerprints: ['a'] },
    ],
    ['keeps 32 fingerprints', { ...others, fingerprints: many }, { ...others, fingerprints: many.slice(0, 32) }],
    ['may have no fingerprints', { ...others, fingerprints: undefined }, { ...others, fingerprints: undefined }],
    ['may have a negative generation', bare({ generation: -1 }), bare({ generation: -1 })],
  ])('%s', (_, stored, expected) => {
    expect(parseRecord(structuredClone(stored), BASE_URL)).toEqual(expected);
  });
});

describe('a damaged record is refused', () => {
  const withSet = (change: object) => ({ ...whole, set: { ...setOf(1), ...change } });
  test.each<readonly [sentence: string, stored: unknown, message: string]>([
    ['as a string', 'text', 'stored record: expected object, got string'],
    ['as an empty string', '', 'stored record: expected object, got empty string'],
    ['as a number', 5, 'stored record: expected object, got number'],
    ['as a flag', false, 'stored record: expected object, got boolean'],
    ['as an array', [], 'stored record: expected object, got array'],
    ['without members', {}, 'generation: expected a whole number, got undefined'],
    [
      'with a generation that is a string',
      { ...whole, generation: '1' },
      'generation: expected a whole number, got string',
    ],
    [
      'with a generation that is a fraction',
      { ...whole, generation: 1.5 },
      'generation: expected a whole number, got number',
    ],
    [
      'with a generation that cannot be incremented',
      { ...whole, generation: 2 ** 53 },
      'generation: expected a whole number, got number',
    ],
    [
      'with a generation that soon cannot be incremented',
      { ...whole, generation: Number.MAX_SAFE_INTEGER },
      'generation: expected a whole number, got number',
    ],
    [
      'with a generation of 10^15, the first that counts as damaged',
      { ...whole, generation: 1e15 },
      'generation: expected a whole number, got number',
    ],
    [
      'with a generation that is a bigint',
      { ...whole, generation: 1n },
      'generation: expected a whole number, got bigint',
    ],
    ['without a clock offset', { ...whole, offsetMs: undefined }, 'offsetMs: expected a finite number, got undefined'],
    ['with an infinite clock offset', { ...whole, offsetMs: -1 / 0 }, 'offsetMs: expected a finite number, got number'],
    [
      'with a clock offset that is not a number',
      { ...whole, offsetMs: Number.NaN },
      'offsetMs: expected a finite number, got number',
    ],
    [
      'with fingerprints that are a string',
      { ...whole, fingerprints: 'a' },
      'fingerprints: expected array, got string',
    ],
    ['with fingerprints that are null', { ...whole, fingerprints: null }, 'fingerprints: expected array, got null'],
    ['with a set that is a string', { ...whole, set: 'text' }, 'token set: expected object, got string'],
    ['with a set that is empty', { ...whole, set: {} }, 'advertisingToken: expected string, got undefined'],
    [
      'with an advertising token that is empty',
      withSet({ advertisingToken: '' }),
      'advertisingToken: expected string, got empty string',
    ],
    [
      'with a refresh token that is a number',
      withSet({ refreshToken: 5 }),
      'refreshToken: expected string, got number',
    ],
    [
      'without the key of the set',
      withSet({ responseKeyB64: undefined }),
      'responseKeyB64: expected string, got undefined',
    ],
    [
      'with a key that is too short',
      withSet({ responseKeyB64: 'AAAA' }),
      'responseKeyB64: expected base64 of 32 bytes, got 4 characters',
    ],
    ['with an instant in seconds', withSet({ refreshAt: ARRIVAL / 1_000 }), 'refreshAt: expected epoch ms'],
    ['with an expiry before refreshAt', withSet({ expiresAt: ARRIVAL }), 'expiresAt: expected epoch ms'],
    ['with an end before the expiry', withSet({ endsAt: DUE }), 'endsAt: expected epoch ms'],
    ['with an end that is not a number', withSet({ endsAt: '1' }), 'endsAt: expected number, got string'],
    [
      'of version 1 with a fingerprint that is a list',
      { ...whole, v: 1, fingerprint: [] },
      'fingerprint: expected string, got array',
    ],
  ])('%s', (_, stored, message) => {
    expect(() => parseRecord(stored, BASE_URL)).toThrow(message);
  });

  test('even if it belongs to another operator', () => {
    expect(() => parseRecord({ baseUrl: 'https://another.example' }, BASE_URL)).toThrow('generation');
  });

  test('with a message that quotes no token or key', () => {
    const stored = withSet({ responseKeyB64: 'a-secret-key', endsAt: 1 });
    expect(() => parseRecord(stored, BASE_URL)).toThrow(/^(?!.*(a-secret|refresh-token|advertising-)).*$/);
  });
});

describe('a record of version 1', () => {
  const run = { tries: 3, steps: 2, refusals: 1, triedAt: DUE, waitMs: 9, leastMs: 8 };
  const old = { v: 1, generation: 4, baseUrl: BASE_URL, offsetMs: 6, set: setOf(1), receivedAt: ARRIVAL };
  const converted = record({ generation: 4, offsetMs: 6 });
  const attempts = retry({
    attempts: 3,
    outages: 2,
    refusals: 1,
    startedAt: DUE,
    waitMs: 9,
    retryAfterMs: 8,
    isLocked: false,
  });
  test.each<readonly [sentence: string, stored: unknown, expected: SessionRecord]>([
    ['is converted', old, converted],
    ['keeps its attempts', { ...old, run }, { ...converted, retry: attempts }],
    [
      'has a running attempt where its pause is 0',
      { ...old, run: { ...run, waitMs: 0 } },
      { ...converted, retry: { ...attempts, waitMs: 0, isRunning: true } },
    ],
    ['loses attempts that are damaged', { ...old, run: { ...run, tries: '3' } }, converted],
    ['loses attempts that are null', { ...old, run: null }, converted],
    ['loses attempts of version 2', { ...old, retry: attempts }, converted],
    [
      'has one fingerprint',
      { ...old, fingerprint: fingerprintOf(1) },
      { ...converted, fingerprints: [fingerprintOf(1)] },
    ],
    [
      'has several fingerprints in one string',
      { ...old, fingerprint: fingerprintOf(2) + fingerprintOf(1) },
      { ...converted, fingerprints: [fingerprintOf(2), fingerprintOf(1)] },
    ],
    [
      'keeps opt-out and logout',
      { v: 1, generation: 4, baseUrl: BASE_URL, offsetMs: 6, optedOut: true, clearedAt: 5 },
      bare({ generation: 4, offsetMs: 6, optedOut: true, clearedAt: 5 }),
    ],
  ])('%s', (_, stored, expected) => {
    const found = parseRecord(stored, BASE_URL);
    expect(found).toEqual(expected);
    expect(parseRecord(structuredClone(found), BASE_URL)).toEqual(found);
  });
});

describe('a record of a newer version', () => {
  test.each<readonly [sentence: string, stored: unknown, expected: SessionRecord]>([
    ['counts but for its set and its attempts', { ...whole, v: 3 }, others],
    ['keeps an opt-out', { ...whole, v: 3, optedOut: true }, { ...others, optedOut: true }],
    ['has no end without its set', { ...whole, v: 3, ended: true }, others],
    ['may have a set in any form', { ...whole, v: 3, set: 'sealed' }, others],
    ['reads as newer if its version is a string', { ...whole, v: '2' }, others],
  ])('%s', (_, stored, expected) => {
    expect(parseRecord(stored, BASE_URL)).toEqual(expected);
  });
});
