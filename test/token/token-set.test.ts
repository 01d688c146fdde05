import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toB64 } from '../../src/token/bytes.ts';
import { parseAnswer, parseStoredTokenSet, parseTokenSet, type TokenError, toWire } from '../../src/token/index.ts';
import { parsePlainAnswer } from '../../src/token/token-set.ts';
import { runsOf } from '../support/properties.ts';

const AT = 1_900_000_000_000;
const wire = {
  advertising_token: 'an advertising token',
  refresh_token: 'a refresh token',
  refresh_response_key: toB64(new Uint8Array(32).fill(1)),
  refresh_from: AT,
  identity_expires: AT + 1,
  refresh_expires: AT + 2,
};
const own = {
  advertisingToken: wire.advertising_token,
  refreshToken: wire.refresh_token,
  responseKeyB64: wire.refresh_response_key,
  refreshAt: AT,
  expiresAt: AT + 1,
  endsAt: AT + 2,
};
const STRINGS = ['advertising_token', 'refresh_token', 'refresh_response_key'] as const;
const INSTANTS = ['refresh_from', 'identity_expires', 'refresh_expires'] as const;

const errorOf = (parse: () => unknown) => {
  try {
    parse();
  } catch (error) {
    return error as Error;
  }
  throw new Error('expected it to throw');
};

describe('a valid set', () => {
  test('is converted to own names and back to wire names', () => {
    expect(parseTokenSet(wire)).toEqual(own);
    expect(toWire(parseTokenSet(wire))).toEqual(wire);
  });

  test('is read from a store under own names', () => {
    expect(parseStoredTokenSet(own)).toEqual(own);
    expect(() => parseTokenSet(own)).toThrow('advertising_token');
    expect(() => parseStoredTokenSet(wire)).toThrow('advertisingToken');
  });

  test('may have unknown members, which are dropped', () => {
    expect(parseTokenSet({ ...wire, privacy: 1, __proto__: { a: 1 } })).toEqual(own);
  });

  test('may have three equal instants, and a key without padding', () => {
    const brief = { ...wire, identity_expires: AT, refresh_expires: AT };
    expect(parseTokenSet(brief)).toMatchObject({ refreshAt: AT, expiresAt: AT, endsAt: AT });
    const bare = wire.refresh_response_key.replace('=', '');
    expect(parseTokenSet({ ...wire, refresh_response_key: bare }).responseKeyB64).toBe(bare);
  });

  test('may have no prototype, or members named like methods', () => {
    expect(parseTokenSet(Object.assign(Object.create(null), wire))).toEqual(own);
    expect(parseTokenSet({ ...wire, toString: 1, valueOf: 2 })).toEqual(own);
    expect(parseAnswer({ status: 'success', body: Object.assign(Object.create(null), wire) })).toEqual(own);
  });

  test('may have instants from 2001 to the end of the year 9999', () => {
    const wide = {
      refresh_from: 1e11,
      identity_expires: 1e11,
      refresh_expires: Date.UTC(9999, 11, 31, 23, 59, 59, 999),
    };
    expect(parseTokenSet({ ...wire, ...wide })).toMatchObject({ refreshAt: 1e11, endsAt: wide.refresh_expires });
  });
});

describe('an invalid set is rejected with a message that contains field, expected and got', () => {
  test.each([null, undefined, 5, 'text', '', true, [], [wire], () => wire])('not an object: %j', (input) => {
    const message = expect.stringMatching(/^token set: expected object, got /);
    for (const parse of [parseTokenSet, parseStoredTokenSet, parseAnswer])
      expect(errorOf(() => parse(input))).toMatchObject({ name: 'TokenError', code: 'invalid_token_set', message });
  });

  test.each([...STRINGS, ...INSTANTS])('%s is missing', (field) => {
    const { [field]: _, ...rest } = wire;
    expect(errorOf(() => parseTokenSet(rest)).message).toMatch(new RegExp(`^${field}: expected .+, got undefined$`));
  });

  const wrong = [5, null, {}, ['a'], true, '', Number.NaN, 10n];
  const gotOf = (value: unknown) => {
    if (value === null) return 'null';
    if (value === '') return 'empty string';
    if (Array.isArray(value)) return 'array';
    return typeof value === 'number' ? '(number|NaN)' : typeof value;
  };

  test.each(STRINGS)('%s is empty or not a string', (field) => {
    for (const value of wrong)
      expect(errorOf(() => parseTokenSet({ ...wire, [field]: value })).message).toMatch(
        new RegExp(`^${field}: expected string, got .*${value === '' ? '' : gotOf(value)}`),
      );
  });

  test.each(INSTANTS)('%s is not a number', (field) => {
    for (const value of [...wrong, String(AT)].filter((given) => typeof given !== 'number'))
      expect(errorOf(() => parseTokenSet({ ...wire, [field]: value })).message).toMatch(
        new RegExp(`^${field}: expected number, got ${gotOf(value)}$`),
      );
  });

  test.each(INSTANTS)('%s is not a plausible instant', (field) => {
    for (const value of [Number.NaN, Infinity, -Infinity, 0, -AT, AT / 1000, AT * 1000, 1e11 - 1, 1e15 + 1])
      expect(errorOf(() => parseTokenSet({ ...wire, [field]: value })).message).toMatch(
        new RegExp(`^${field}: expected .+, got .*${String(value).replace('+', '\\+')}"?$`),
      );
  });

  test.each([
    ['the token expires before it is due', { identity_expires: AT - 1 }, 'identity_expires', AT, AT - 1],
    ['the refresh token expires before the advertising token', { refresh_expires: AT }, 'refresh_expires', AT + 1, AT],
    ['the refresh is due after both have expired', { refresh_from: AT + 3 }, 'identity_expires', AT + 3, AT + 1],
  ])('instants out of order: %s', (_, change, field, earliest, got) => {
    expect(errorOf(() => parseTokenSet({ ...wire, ...change })).message).toMatch(
      new RegExp(`^${field}: expected .*${earliest}.*, got ${got}$`),
    );
  });

  test.each([
    ['31 bytes', toB64(new Uint8Array(31).fill(1))],
    ['33 bytes', toB64(new Uint8Array(33).fill(1))],
    ['16 bytes', toB64(new Uint8Array(16).fill(1))],
    ['the URL-safe alphabet', toB64(new Uint8Array(32).fill(255)).replaceAll('/', '_')],
    ['44 characters with a space', `${wire.refresh_response_key.slice(0, 42)} =`],
    ['44 characters and a line break', `${wire.refresh_response_key}\n`],
  ])('a key of %s', (_, key) => {
    expect(errorOf(() => parseTokenSet({ ...wire, refresh_response_key: key })).message).toBe(
      `refresh_response_key: expected base64 of 32 bytes, got ${key.length} characters`,
    );
  });
});

describe('an answer', () => {
  test('is a success with a body, the body alone, or an opt-out', () => {
    expect(parseAnswer({ status: 'success', body: wire })).toEqual(own);
    expect(parseAnswer(wire)).toEqual(own);
    expect(parseAnswer({ status: 'optout' })).toBe('optout');
    expect(parseAnswer({ status: 'optout', body: wire })).toBe('optout');
  });

  test.each<unknown>([
    wire,
    { status: 'success', body: wire },
    { status: 'success', body: null, ...wire },
    { status: 'success' },
    { status: 'optout', body: wire },
    { status: 'error', body: wire },
    { status: '', ...wire },
    { ...wire, identity_expires: wire.refresh_from - 1 },
    { ...wire, refresh_response_key: 'short' },
    null,
    'text',
  ])('is accepted or rejected without messages, too: %j', (input) => {
    const outcomeOf = (parse: (given: unknown) => unknown) => {
      try {
        return parse(input);
      } catch (error) {
        return (error as TokenError).code;
      }
    };
    expect(outcomeOf(parsePlainAnswer)).toEqual(outcomeOf(parseAnswer));
  });

  test('that is rejected without messages refers to the documentation', () => {
    expect(errorOf(() => parsePlainAnswer({}))).toMatchObject({
      message: 'invalid_token_set: see docs/errors.md of tessera-id',
    });
  });

  test.each([
    ['no body', { status: 'success' }, /^token set: expected object, got undefined$/],
    ['null as body', { status: 'success', body: null }, /^token set: expected object, got .*null"?$/],
    ['a string as body', { status: 'success', body: 'text' }, /^token set: expected object, got string$/],
    ['a capitalised status', { status: 'Success', body: wire }, /^status: expected success or optout, got /],
    ['the status of an error', { status: 'client_error', body: wire }, /^status: expected success or optout, got /],
    ['a status that is a number', { ...wire, status: 200 }, /^status: expected success or optout, got /],
    ['nothing', undefined, /^token set: expected object, got undefined$/],
    [
      'a response in place of its JSON',
      new Response('{}'),
      /^token set: expected object, got a Response: use await response\.json\(\)$/,
    ],
    ['a promise', Promise.resolve(wire), /^token set: expected object, got a Promise: await it$/],
    [
      'a JSON string',
      JSON.stringify(wire),
      /^token set: expected object, got a string: use JSON\.parse, or response\.json\(\) for response\.text\(\)$/,
    ],
    ['no members', {}, /^advertising_token: expected string, got undefined$/],
  ])('with %s is refused', (_, input, message) => expect(errorOf(() => parseAnswer(input)).message).toMatch(message));
});

describe('arbitrary input', () => {
  const SECRET = 'the-string-that-no-message-may-quote';
  const leaf = fc.oneof(
    fc.constantFrom<unknown>(SECRET, `x${SECRET}x`, SECRET.repeat(9), '', null, undefined, AT, AT + 1, -1, Number.NaN),
    fc.jsonValue(),
  );
  const field = fc.constantFrom(...STRINGS, ...INSTANTS, 'status', 'body');
  const object = fc.dictionary(field, leaf, { noNullPrototype: true });
  const input = fc.oneof(
    fc.jsonValue(),
    object,
    object.map((given) => ({ ...wire, ...given })),
    object.map((given) => ({ status: 'success', body: { ...wire, ...given } })),
    object.map((given) => Object.fromEntries(Object.entries({ ...own, ...given }))),
  );

  test('throws nothing but invalid_token_set, and no message quotes the input', () => {
    fc.assert(
      fc.property(input, (given) => {
        for (const parse of [parseAnswer, parseTokenSet, parseStoredTokenSet])
          try {
            parse(given);
          } catch (error) {
            expect(error).toMatchObject({ name: 'TokenError', code: 'invalid_token_set' });
            expect(String(error)).not.toContain(SECRET);
            expect(String(error)).not.toContain(wire.refresh_response_key);
            expect(String((error as Error).cause)).not.toContain(SECRET);
          }
      }),
      { numRuns: runsOf(1000) },
    );
    // A second on an idle machine.
  }, 60_000);

  test.each(STRINGS)('a %s that looks like a number is not quoted either', (field) => {
    for (const text of ['-12345', '-0.5', '-Infinity'])
      try {
        parseTokenSet({ ...wire, [field]: text });
      } catch (error) {
        expect(String(error)).not.toContain(text);
      }
  });

  test('is accepted only as a complete set: strings, a key of 32 bytes, instants in order', () => {
    fc.assert(
      fc.property(input, (given) => {
        let answer: ReturnType<typeof parseAnswer>;
        try {
          answer = parseAnswer(given);
        } catch {
          return;
        }
        if (answer === 'optout') return;
        const { advertisingToken, refreshToken, responseKeyB64, refreshAt, expiresAt, endsAt } = answer;
        expect(advertisingToken && refreshToken).toBeTypeOf('string');
        expect(atob(responseKeyB64)).toHaveLength(32);
        expect(refreshAt <= expiresAt && expiresAt <= endsAt).toBe(true);
      }),
      { numRuns: runsOf(1000) },
    );
    // A second on an idle machine.
  }, 60_000);
});
