import { describe, expect, test } from 'vitest';
import { toB64, toHex } from '../../src/token/bytes.ts';
import {
  diiTypeOf,
  hashDii,
  hashOf,
  hashTextOf,
  normalizeEmail,
  normalizePhone,
  parseHash,
} from '../../src/token/index.ts';
import {
  EMAIL_EDGES,
  EMAILS,
  FOO_HASH,
  HASHES,
  INVALID_EMAILS,
  INVALID_PHONES,
  PHONES,
  USER_HASH_HEX,
} from '../vectors/dii.ts';

describe('email addresses', () => {
  test.each(EMAILS)('%j normalises to %j and has the hash of the vector', (input, normal, hashB64) => {
    expect(normalizeEmail(input)).toBe(normal);
    expect(hashTextOf('email', input)).toBe(hashB64);
  });

  test.each(EMAIL_EDGES)('%j normalises to %j', (input, normal) => expect(normalizeEmail(input)).toBe(normal));

  test.each(INVALID_EMAILS)('%j is not an email address', (input) => {
    expect(normalizeEmail(input)).toBeUndefined();
    expect(hashOf('email', input)).toBeUndefined();
  });

  test.each([...EMAILS, ...EMAIL_EDGES].map(([, normal]) => normal))('%j is already normalised', (normal) => {
    expect(normalizeEmail(normal)).toBe(normal);
  });

  test('for gmail.com everything after the plus sign is removed, line breaks included', () => {
    expect(normalizeEmail('a+b\nc@gmail.com')).toBe('a@gmail.com');
  });
});

describe('phone numbers', () => {
  test.each(PHONES)('%j is already normalised', (phone) => expect(normalizePhone(phone)).toBe(phone));

  test.each(INVALID_PHONES)('%j is not a phone number', (phone) => {
    expect(normalizePhone(phone)).toBeUndefined();
    expect(hashOf('phone', phone)).toBeUndefined();
  });
});

describe('hashes', () => {
  test.each(HASHES)('the SHA-256 of %j equals the vector', (normalized, hashB64) => {
    expect(toB64(hashDii(normalized))).toBe(hashB64);
  });

  test('the SHA-256 of user@example.com equals the vector in hexadecimal', () => {
    expect(toHex(hashDii('user@example.com'))).toBe(USER_HASH_HEX);
  });

  test('base64 and hexadecimal in either case are the same identity', () => {
    const bytes = parseHash(FOO_HASH.b64)!;
    const hex = toHex(bytes);
    expect(hex).toMatch(new RegExp(`^${FOO_HASH.hexStart}.*${FOO_HASH.hexEnd}$`));
    expect(bytes).toEqual(hashDii('foo@bar.com'));
    for (const text of [hex, hex.toUpperCase()]) {
      expect(parseHash(text)).toEqual(bytes);
      for (const form of ['email_hash', 'phone_hash'] as const) expect(hashTextOf(form, text)).toBe(FOO_HASH.b64);
    }
  });

  test('a hash with other unused bits before the padding is the same hash, in its wire form', () => {
    // The last character carries four bits of the hash; the other two are ignored.
    for (const last of ['A', 'B', 'C', 'D'])
      expect(hashTextOf('email_hash', `${'A'.repeat(42)}${last}=`)).toBe(`${'A'.repeat(43)}=`);
  });

  test('a hash in place of an address or a number is neither', () => {
    for (const form of ['email', 'phone'] as const) expect(hashTextOf(form, FOO_HASH.b64)).toBeUndefined();
  });

  test.each([
    ['base64 after another character', `A${FOO_HASH.b64}`],
    ['base64 before another character', `${FOO_HASH.b64}A`],
    ['three characters', 'AA='],
    ['42 characters of another alphabet', `${'!'.repeat(42)}A=`],
  ])('%s has no wire form', (_, text) => expect(hashTextOf('email_hash', text)).toBeUndefined());

  const hex = USER_HASH_HEX;
  test.each([
    ['an empty string', ''],
    ['base64 without its padding', FOO_HASH.b64.slice(0, 43)],
    ['39 characters', FOO_HASH.b64.slice(0, 39)],
    ['44 characters of 33 bytes', FOO_HASH.b64.replace('=', 'A')],
    ['44 characters of 31 bytes', `${FOO_HASH.b64.slice(0, 42)}==`],
    ['the URL-safe alphabet', HASHES[0]![1].replaceAll('/', '_')],
    ['64 characters with a Z', `Z${hex.slice(1)}`],
    ['65 hexadecimal digits', `${hex}0`],
    ['66 hexadecimal digits', `${hex}00`],
    ['a line break at the end', `${hex}\n`],
    ['base64 after another character', ` ${FOO_HASH.b64}`],
    ['base64 before another character', `${FOO_HASH.b64} `],
  ])('%s is not a hash', (_, text) => {
    expect(parseHash(text)).toBeUndefined();
    expect(hashOf('email_hash', text)).toBeUndefined();
    expect(hashOf('phone_hash', text)).toBeUndefined();
  });

  test('a phone number is no email address, nor the reverse', () => {
    expect(hashOf('phone', 'user@example.com')).toBeUndefined();
    expect(hashOf('email', '+12345678901')).toBeUndefined();
  });

  test('an address and its hash have the same type', () => {
    expect((['email', 'email_hash', 'phone', 'phone_hash'] as const).map(diiTypeOf)).toEqual([
      'email',
      'email',
      'phone',
      'phone',
    ]);
  });
});
