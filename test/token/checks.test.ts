import { describe, expect, test } from 'vitest';
import {
  addressFault,
  choiceFault,
  escapeControls,
  integerFault,
  isLoopback,
  kindOf,
  MAX_TIMER_MS,
  nameFault,
  parseBaseUrl,
  requestOptions,
  type TypeName,
  throwIf,
  typeFault,
} from '../../src/token/checks.ts';

const nullPrototype: object = Object.create(null);

test('throwIf throws a fault as a TypeError', () => {
  expect(() => throwIf('a: expected b')).toThrow(new TypeError('a: expected b'));
  for (const none of [undefined, false, ''] as const) expect(throwIf(none)).toBeUndefined();
});

test('requestOptions hides what a page has added to Object.prototype, and keeps that prototype', () => {
  const added = { method: 'DELETE', mode: 'no-cors', referrer: 'about:client' };
  Object.assign(Object.prototype, added);
  try {
    const options = requestOptions({ method: 'POST' });
    expect([options.method, options.mode, options.referrer]).toEqual(['POST', undefined, undefined]);
    expect(Object.getPrototypeOf(options)).toBe(Object.prototype);
  } finally {
    for (const name of Object.keys(added)) Reflect.deleteProperty(Object.prototype, name);
  }
});

describe('kindOf', () => {
  test.each<[value: unknown, kind: string]>([
    [null, 'null'],
    [undefined, 'undefined'],
    ['', 'empty string'],
    [' ', 'string'],
    [[], 'array'],
    [{}, 'object'],
    [nullPrototype, 'object'],
    [Number.NaN, 'number'],
    [1n, 'bigint'],
    [true, 'boolean'],
    [Symbol('s'), 'symbol'],
    [() => {}, 'function'],
    [Promise.resolve({}), 'a Promise: await it'],
    // Of another library, or of another frame.
    [Object.fromEntries([['then', () => {}]]), 'a Promise: await it'],
  ])('%o is %s', (value, kind) => expect(kindOf(value)).toBe(kind));
});

describe('typeFault', () => {
  test.each<[type: TypeName, value: unknown, got: string | undefined]>([
    ['string', 'a', undefined],
    ['string', '', 'string, got empty string'],
    ['string', 5, 'string, got number'],
    ['string', undefined, 'string, got undefined'],
    ['number', 0, undefined],
    ['number', 0.5, undefined],
    ['number', Number.POSITIVE_INFINITY, undefined],
    ['number', '5', 'number, got string'],
    ['number', 5n, 'number, got bigint'],
    ['number', -1, 'number of 0 or more, got -1'],
    ['number', Number.NaN, 'number of 0 or more, got NaN'],
    ['positive', 0.5, undefined],
    ['positive', '5', 'number, got string'],
    ['positive', 0, 'finite number above 0, got 0'],
    ['positive', -1, 'finite number above 0, got -1'],
    ['positive', Number.NaN, 'finite number above 0, got NaN'],
    ['positive', Number.POSITIVE_INFINITY, 'finite number above 0, got Infinity'],
    ['object', {}, undefined],
    ['object', nullPrototype, undefined],
    ['object', null, 'object, got null'],
    ['object', [], 'object, got array'],
    ['object', Promise.resolve({}), 'object, got a Promise: await it'],
    ['function', () => {}, undefined],
    ['function', {}, 'function, got object'],
    ['boolean', false, undefined],
    ['boolean', 0, 'boolean, got number'],
  ])('expected %s, given %o', (type, value, got) => {
    expect(typeFault('option', type, value)).toBe(got && `option: expected ${got}`);
  });

  test('does not quote a string', () => {
    expect(typeFault('option', 'number', 'made-up-secret')).not.toContain('made-up-secret');
  });
});

describe('choiceFault', () => {
  test.each<[value: unknown, got: string | undefined]>([
    ['auto', undefined],
    ['off', undefined],
    ['Auto', '"Auto"'],
    ['client_error', '"client_error"'],
    ['a'.repeat(24), `"${'a'.repeat(24)}"`],
    ['a'.repeat(25), 'another string'],
    ['word1', 'another string'],
    ['two words', 'another string'],
    ['user@example.com', 'another string'],
    ['+12345678901', 'another string'],
    ['', 'empty string'],
    [null, 'null'],
    [undefined, 'undefined'],
    [0, 'number'],
    [['auto'], 'array'],
    [nullPrototype, 'object'],
    [Symbol('s'), 'symbol'],
  ])('given %o', (value, got) => {
    const expected = got && `refresh: expected auto or off, got ${got}`;
    expect(choiceFault('refresh', ['auto', 'off'], value)).toBe(expected);
  });
});

describe('integerFault', () => {
  test.each<[value: unknown, got: string | undefined]>([
    [1, undefined],
    [20, undefined],
    [0, '0'],
    [21, '21'],
    [1.5, '1.5'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    ['5', 'string'],
    [5n, 'bigint'],
    [null, 'null'],
    [nullPrototype, 'object'],
  ])('given %o', (value, got) => {
    const expected = got && `tries: expected a whole number from 1 to 20, got ${got}`;
    expect(integerFault('tries', 1, 20, value)).toBe(expected);
  });
});

describe('nameFault', () => {
  test.each<[given: object, sentence: string | undefined]>([
    [{}, undefined],
    [{ firstMs: 1, maxMs: undefined }, undefined],
    [{ firstMs: 1, max: 2 }, 'retry.max: expected one of firstMs, maxMs, got an unknown name; did you mean maxMs?'],
    [{ max: undefined }, 'retry.max: expected one of firstMs, maxMs, got an unknown name; did you mean maxMs?'],
    [{ toString: 1 }, 'retry.toString: expected one of firstMs, maxMs, got an unknown name'],
  ])('given %o', (given, sentence) => expect(nameFault('retry.', ['firstMs', 'maxMs'], given)).toBe(sentence));
});

describe('isLoopback', () => {
  test.each([
    'http://localhost',
    'http://LOCALHOST:8080/path',
    'http://shop.localhost',
    'http://a.b.localhost',
    'http://127.0.0.1',
    'http://127.1',
    'http://127.255.255.254',
    'http://2130706433',
    'http://[::1]:8080',
    'http://[0:0:0:0:0:0:0:1]',
  ])('%s is this machine', (url) => expect(isLoopback(new URL(url).hostname)).toBe(true));

  test.each([
    'http://localhost.example',
    'http://notlocalhost',
    'http://localhost.localdomain',
    'http://127.0.0.1.example',
    'http://128.0.0.1',
    'http://10.127.0.0.1.example',
    'http://0.0.0.0',
    'http://192.168.0.1',
    'http://[::]',
    'http://[::2]',
    'http://operator.example',
  ])('%s is another machine', (url) => expect(isLoopback(new URL(url).hostname)).toBe(false));
});

test('a name that ends like an address of this machine is not this machine', () => {
  expect(isLoopback('a127.0.0.1')).toBe(false);
});

describe('parseBaseUrl', () => {
  test.each<[value: string, baseUrl: string]>([
    ['https://operator.example', 'https://operator.example'],
    ['https://operator.example/', 'https://operator.example'],
    ['https://operator.example///', 'https://operator.example'],
    ['https://operator.example:8443/uid/v1/', 'https://operator.example:8443/uid/v1'],
    ['https://operator.example:443', 'https://operator.example'],
    ['HTTPS://Operator.Example', 'https://operator.example'],
    [' https://operator.example ', 'https://operator.example'],
    ['http://localhost:8080', 'http://localhost:8080'],
    ['http://shop.localhost', 'http://shop.localhost'],
    ['http://127.0.0.1:8080/', 'http://127.0.0.1:8080'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
  ])('%j is %s', (value, baseUrl) => expect(parseBaseUrl(value)).toBe(baseUrl));

  test.each(['https://operator.example/uid', 'http://localhost:8080', 'https://operator.example/v10'])(
    '%j has no mistake to describe',
    (value) => expect(addressFault(value)).toBeUndefined(),
  );

  test('accepts http to another machine only if allowInsecure is true itself', () => {
    expect(parseBaseUrl('http://operator.example/', true)).toBe('http://operator.example');
    for (const allowInsecure of [undefined, false, 1, 'true', {}])
      expect(addressFault('http://operator.example', allowInsecure)).toContain('the scheme "http:"');
    expect(addressFault('ftp://operator.example', true)).toContain('got the scheme "ftp:"');
  });

  test.each<[value: unknown, got: string]>([
    [undefined, 'undefined'],
    [null, 'null'],
    ['', 'empty string'],
    [5, 'number'],
    [new URL('https://operator.example'), 'object'],
    ['operator.example', '"operator.example" without a scheme'],
    ['localhost', '"localhost" without a scheme: add http://'],
    ['localhost:8080', '"localhost:8080" without a scheme: add http://'],
    ['localhost:8080/made-up-path', '"localhost:8080" without a scheme: add http://'],
    ['127.0.0.1:8080', '"127.0.0.1:8080" without a scheme: add http://'],
    ['[::1]:8080', '"[::1]:8080" without a scheme: add http://'],
    ['192.168.0.7', '"192.168.0.7" without a scheme'],
    ['made-up-key:12345@operator.example', 'another scheme'],
    ['1-made-up-key-operator', 'a string that is not an absolute URL'],
    ['/v2', 'a string that is not an absolute URL'],
    ['https://operator.example/?', 'a URL with a query or fragment'],
    ['https://operator.example/#', 'a URL with a query or fragment'],
    ['https://', 'a string that is not an absolute URL'],
    ['http://operator.example', 'the scheme "http:"'],
    ['ws://localhost', 'the scheme "ws:"'],
    ['wss://localhost', 'the scheme "wss:"'],
    ['file:///etc/hosts', 'the scheme "file:"'],
    ['a-made-up-ftp:x', 'another scheme'],
    ['operator.example:8080', '"operator.example:8080" without a scheme'],
    ['https://operator.example/v2/token/refresh', 'the URL of an endpoint: leave out /v2 and what follows'],
    ['https://operator.example/v2', 'the URL of an endpoint: leave out /v2 and what follows'],
    ['https://operator.example/uid/v3/identity/map', 'the URL of an endpoint: leave out /v3 and what follows'],
    ['javascript:alert(1)', 'another scheme'],
    ['https://made-up-user@operator.example', 'a URL with a user or password'],
    ['https://:made-up-password@operator.example', 'a URL with a user or password'],
    ['https://operator.example?made-up-query', 'a URL with a query or fragment'],
    ['https://operator.example#made-up-fragment', 'a URL with a query or fragment'],
  ])('%j is refused', (value, got) => {
    const expected = 'an absolute https URL (http is accepted for localhost, or with allowInsecure: true)';
    expect(addressFault(value)).toBe(`baseUrl: expected ${expected}, got ${got}`);
  });

  test.each<unknown>([
    undefined,
    '',
    new URL('https://operator.example'),
    'operator.example',
    'http://operator.example',
    'ftp://operator.example',
    'https://made-up-user@operator.example',
    'https://:made-up-password@operator.example',
    'https://operator.example?made-up-query',
    'https://operator.example#made-up-fragment',
  ])('without descriptions of mistakes, %j is rejected and not quoted', (value) => {
    expect(() => parseBaseUrl(value)).toThrow(new TypeError('baseUrl: expected an absolute https URL'));
  });

  test('the URL of an endpoint is a mistake only if mistakes are described', () => {
    expect(parseBaseUrl('https://operator.example/v2/token/refresh')).toMatch(/refresh$/);
  });

  test.each([
    'https://made-up-1:made-up-1@operator.example/made-up-1?made-up-1#made-up-1',
    'https://operator.example/made-up-1?made-up-1',
    'http://operator.example/made-up-1',
    'ftp://operator.example/made-up-1',
    'made-up-1:made-up-1@operator.example',
    'made-up-1',
    'https://made up-1/made-up-1',
  ])('a message about %j quotes no part that may be secret', (value) => {
    expect(addressFault(value)).toBeTypeOf('string');
    expect(addressFault(value)).not.toContain('made');
  });
});

test('MAX_TIMER_MS is the largest signed 32-bit integer', () => expect(MAX_TIMER_MS).toBe(2_147_483_647));

describe('escapeControls', () => {
  test.each([
    ['plain text', 'a plain text, ä é \u{1f600} 漢字', 'a plain text, ä é \u{1f600} 漢字'],
    ['control characters', '\u001b[2J\u0007\u009b', '\\u001b[2J\\u0007\\u009b'],
    ['bidirectional controls', 'a\u202eb\u2066c', 'a\\u202eb\\u2066c'],
    ['line and paragraph separators', 'a\u2028b\u2029c\n', 'a\\u2028b\\u2029c\\u000a'],
    ['invisible characters beyond 16 bits, as two units', '\u{e0041}', '\\udb40\\udc41'],
    ['half of a pair', '\ud800', '\\ud800'],
  ])('%s', (_, text, escaped) => expect(escapeControls(text)).toBe(escaped));

  test('leaves the characters to keep unchanged', () => {
    expect(escapeControls('a\n\tb\r', '\n\t')).toBe('a\n\tb\\u000d');
  });
});
