import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  concat,
  fromB64,
  fromB64Url,
  fromHex,
  fromUtf8,
  int64,
  readInt64,
  toB64,
  toHex,
  utf8,
} from '../../src/token/bytes.ts';

const bytes = fc.uint8Array({ maxLength: 200 });
const plain = (given: Uint8Array) => [...given];

describe('base64, hexadecimal and UTF-8', () => {
  test.each([
    [[0xfb, 0xef, 0xbe], '++++', '----'],
    [[0xff, 0xff, 0xff], '////', '____'],
    [[0xff], '/w==', '_w'],
  ])('%j is %s, and %s in URLs', (given, standard, url) => {
    expect(toB64(Uint8Array.from(given))).toBe(standard);
    expect(plain(fromB64(standard))).toEqual(given);
    expect(plain(fromB64Url(url))).toEqual(given);
  });

  test('base64 equals that of Node and decodes again', () => {
    fc.assert(
      fc.property(bytes, (given) => {
        expect(toB64(given)).toBe(Buffer.from(given).toString('base64'));
        expect(plain(fromB64(toB64(given)))).toEqual(plain(given));
      }),
    );
  });

  test('URL-safe base64 of Node decodes with or without padding', () => {
    fc.assert(
      fc.property(bytes, (given) => {
        const text = Buffer.from(given).toString('base64url');
        expect(plain(fromB64Url(text))).toEqual(plain(given));
        expect(plain(fromB64Url(text.padEnd(Math.ceil(text.length / 4) * 4, '=')))).toEqual(plain(given));
      }),
    );
  });

  test('hexadecimal equals that of Node and decodes in either case', () => {
    fc.assert(
      fc.property(bytes, (given) => {
        const text = toHex(given);
        expect(text).toBe(Buffer.from(given).toString('hex'));
        expect(plain(fromHex(text))).toEqual(plain(given));
        expect(plain(fromHex(text.toUpperCase()))).toEqual(plain(given));
      }),
    );
  });

  test('a string survives encoding and decoding as UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(fromUtf8(utf8(text))).toBe(text);
      }),
    );
  });

  test('a large array does not overflow the stack', () => {
    const large = new Uint8Array(300_000).fill(7);
    expect(toB64(large)).toBe(Buffer.from(large).toString('base64'));
  });

  test.each([[[0xff]], [[0xc3]], [[0xed, 0xa0, 0x80]], [[0xf8, 0x88, 0x80, 0x80, 0x80]]])(
    'bytes %j are not UTF-8',
    (broken) => {
      expect(() => fromUtf8(Uint8Array.from(broken))).toThrow(TypeError);
    },
  );

  test.each(['a', '?', 'ab=c', 'ä', 'abcd====='])('%j is not base64', (text) => expect(() => fromB64(text)).toThrow());

  test('a view of part of a buffer is read from its own offset', () => {
    const whole = concat(Uint8Array.of(9, 9, 9), int64(1_900_000_000_000));
    const part = whole.subarray(3);
    expect(readInt64(part, 0)).toBe(1_900_000_000_000);
    expect(toB64(part)).toBe(Buffer.from(part).toString('base64'));
  });
});

describe('integers', () => {
  test('64 bits, big-endian, are read back for every safe integer', () => {
    expect(toHex(int64(1_667_885_597_644))).toBe('0000018455ba83cc');
    fc.assert(fc.property(fc.maxSafeInteger(), (value) => readInt64(int64(value), 0) === value));
  });

  test('concat joins arrays in order', () => {
    expect(plain(concat())).toEqual([]);
    expect(plain(concat(Uint8Array.of(1), new Uint8Array(0), Uint8Array.of(2, 3)))).toEqual([1, 2, 3]);
  });
});
