import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createClient } from '../../src/server/index.ts';
import { API_KEY, optionsFor, plain, SECRET, scriptedService } from './scripted-service.ts';

const base = optionsFor(scriptedService(plain(500)));
const wrong = (options: object) => () => createClient({ ...base, ...options } as never);

describe('wrong options are TypeErrors that name the option, expected and got', () => {
  test.each([
    [{ baseUrl: undefined }, 'baseUrl: expected absolute URL, got undefined'],
    [{ baseUrl: 'operator.example' }, 'baseUrl: expected absolute URL, got text that is none'],
    [
      { baseUrl: 'http://operator.example' },
      'baseUrl: expected https (http on loopback, or with allowInsecure: true), got http:',
    ],
    [
      { baseUrl: 'ftp://operator.example', allowInsecure: true },
      'baseUrl: expected https (http on loopback, or with allowInsecure: true), got ftp:',
    ],
    [
      { baseUrl: 'https://u:p@operator.example' },
      'baseUrl: expected URL without user, query or fragment, got one with them',
    ],
    [
      { baseUrl: 'https://operator.example?a=1' },
      'baseUrl: expected URL without user, query or fragment, got one with them',
    ],
    [{ apiKey: '' }, 'apiKey: expected text, got empty text'],
    [{ apiKey: 'key\n' }, 'apiKey: expected printable ASCII without spaces, got other characters in it'],
    [{ clientSecret: 5 }, 'clientSecret: expected base64 of 32 bytes, got number'],
    [{ clientSecret: 'AAAA' }, 'clientSecret: expected base64 of 32 bytes, got 3 bytes'],
    [{ clientSecret: '*' }, 'clientSecret: expected base64 of 32 bytes, got text that is no base64'],
    [{ timeoutMs: 0 }, 'timeoutMs: expected a whole number from 1 to 2147483647, got 0'],
    [{ timeoutMs: Number.POSITIVE_INFINITY }, 'timeoutMs: expected a whole number from 1 to 2147483647, got Infinity'],
    [{ bulkTimeoutMs: '5' }, 'bulkTimeoutMs: expected a whole number from 1 to 2147483647, got string'],
    [{ concurrency: 21 }, 'concurrency: expected a whole number from 1 to 20, got 21'],
    [{ retry: { tries: 0 } }, 'retry.tries: expected a whole number from 1 to 100, got 0'],
    [{ hashLocally: true }, 'hashLocally: expected emails, all, none, got boolean'],
    [{ envelope: 'hex' }, "envelope: expected binary, text, got 'hex'"],
    [{ fetch: 'fetch' }, 'fetch: expected function, got string'],
    [{ now: 5 }, 'now: expected function, got number'],
  ])('%j', (options, message) => {
    expect(wrong(options)).toThrow(new TypeError(message));
  });

  test('no options at all', () => {
    expect(() => createClient(undefined as never)).toThrow(new TypeError('options: expected object, got undefined'));
  });

  test('a wrong key or secret is not shown', () => {
    for (const options of [{ apiKey: `${API_KEY} ü` }, { clientSecret: SECRET.slice(2) }])
      try {
        createClient({ ...base, ...options });
        expect.unreachable();
      } catch (e) {
        expect(`${e}`).not.toContain(API_KEY);
        expect(`${e}`).not.toContain(SECRET.slice(2));
      }
  });
});

describe('baseUrl', () => {
  test.each(['http://localhost:8080', 'http://127.0.0.1:1', 'http://[::1]:1', 'http://op.localhost'])(
    'plain http is allowed on loopback: %s',
    (baseUrl) => {
      expect(wrong({ baseUrl })).not.toThrow();
    },
  );

  test.each(['http://127.0.0.1.example.com', 'http://localhost.example.com'])('%s is no loopback', (baseUrl) => {
    expect(wrong({ baseUrl })).toThrow(TypeError);
  });

  test('user and password in it are refused, and not shown', () => {
    const part = fc.string({ minLength: 8, unit: fc.constantFrom(...'abcXYZ019-_.~!$&') });
    fc.assert(
      fc.property(part, fc.option(part), fc.constantFrom('https', 'http'), (user, password, scheme) => {
        const userInfo = password === null ? user : `${user}:${password}`;
        const create = wrong({ baseUrl: `${scheme}://${userInfo}@localhost/identity`, allowInsecure: true });
        expect(create).toThrow(
          new TypeError('baseUrl: expected URL without user, query or fragment, got one with them'),
        );
      }),
    );
  });

  test('plain http elsewhere needs allowInsecure', () => {
    expect(wrong({ baseUrl: 'http://10.0.0.5:8080', allowInsecure: true })).not.toThrow();
  });

  test('a path is kept and slashes at the end go', async () => {
    const urls: string[] = [];
    const fetch = async (url: string) => {
      urls.push(url);
      return new Response('', { status: 500 });
    };
    const client = createClient({ ...base, fetch, baseUrl: 'https://gateway.example/identity//' });
    await client.generate({ email: 'user@example.com' }).catch(() => {});
    expect(urls).toEqual(['https://gateway.example/identity/v2/token/generate']);
  });
});
