import fc from 'fast-check';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { type CallOptions, type Client, createClient } from '../../src/server/index.ts';
import { settingsOf } from '../../src/server/options.ts';
import { until } from '../support/clock.ts';
import { API_KEY, optionsFor, plain, rejectionOf, SECRET, scriptedService, silent } from './scripted-service.ts';

const base = optionsFor(scriptedService(plain(500)));
const BASE_URL =
  'baseUrl: expected an absolute https URL (http is accepted for localhost, or with allowInsecure: true)';
const wrong = (options: object) => () => createClient({ ...base, ...options } as never);

describe('a wrong option is a TypeError that names the option, what was expected and what came', () => {
  test.each([
    [{ baseUrl: undefined }, `${BASE_URL}, got undefined`],
    [{ baseUrl: 'operator.example' }, `${BASE_URL}, got "operator.example" without a scheme`],
    [{ baseUrl: 'ftp://operator.example', allowInsecure: true }, `${BASE_URL}, got the scheme "ftp:"`],
    [{ apiKey: '' }, 'apiKey: expected string, got empty string'],
    [{ apiKey: 'ükey' }, 'apiKey: expected printable ASCII without spaces, got a string with other characters'],
    [{ apiKey: 'key\n' }, 'apiKey: expected printable ASCII without spaces, got a string with other characters'],
    [{ clientSecret: 5 }, 'clientSecret: expected base64 of 32 bytes, got number'],
    [{ clientSecret: 'AAAA' }, 'clientSecret: expected base64 of 32 bytes, got 3 bytes'],
    [{ clientSecret: '*' }, 'clientSecret: expected base64 of 32 bytes, got a string that is not base64'],
    [
      { apiKey: SECRET, clientSecret: '*' },
      'clientSecret: expected base64 of 32 bytes, got a string that is not base64; are apiKey and clientSecret swapped?',
    ],
    [{ timeoutMs: 0 }, 'timeoutMs: expected a whole number from 1 to 2147483647, got 0'],
    [{ bulkTimeoutMs: '5' }, 'bulkTimeoutMs: expected a whole number from 1 to 2147483647, got string'],
    [{ concurrency: 21 }, 'concurrency: expected a whole number from 1 to 20, got 21'],
    [{ retry: { tries: 101 } }, 'retry.tries: expected a whole number from 1 to 100, got 101'],
    [{ retry: { firstMs: -1 } }, 'retry.firstMs: expected a whole number from 0 to 2147483647, got -1'],
    [{ retry: { maxMs: 2 ** 31 } }, 'retry.maxMs: expected a whole number from 0 to 2147483647, got 2147483648'],
    [{ hashLocally: true }, 'hashLocally: expected emails or all or none, got boolean'],
    [{ envelope: 'hex' }, 'envelope: expected binary or text, got "hex"'],
    [{ fetch: 'fetch' }, 'fetch: expected function, got string'],
    [{ now: 5 }, 'now: expected function, got number'],
    [{ retry: { attempts: 3 } }, 'retry.attempts: expected one of tries, firstMs, maxMs, got an unknown name'],
    [{ retry: 3 }, 'retry: expected object, got number'],
    ...[
      ['hashLocaly', 'hashLocally'],
      ['HashLocally', 'hashLocally'],
      ['timeout', 'timeoutMs'],
      ['apikey', 'apiKey'],
    ].map(([name = '', meant]): [object, string] => [
      { [name]: 'all' },
      `${name}: expected one of baseUrl, apiKey, clientSecret, hashLocally, timeoutMs, bulkTimeoutMs, concurrency, retry, envelope, fetch, now, allowInsecure, siteId, roles, keepStored, got an unknown name; did you mean ${meant}?`,
    ]),
  ])('%j', (options, message) => expect(wrong(options)).toThrow(new TypeError(message)));

  test('a participant can be spread into them, with its other members', () => {
    expect(() => createClient({ ...base, ...{ siteId: 123, roles: ['MAPPER'] } })).not.toThrow();
  });

  test('without options', () => {
    expect(() => createClient(undefined as never)).toThrow(new TypeError('options: expected object, got undefined'));
  });

  test('the message quotes no key and no secret', () => {
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

test('the defaults are those of the documentation', () => {
  expect(settingsOf({ baseUrl: 'https://operator.example', apiKey: API_KEY, clientSecret: SECRET })).toMatchObject({
    hashLocally: 'emails',
    timeoutMs: 10_000,
    bulkTimeoutMs: 60_000,
    concurrency: 20,
    retry: { tries: 6, firstMs: 500, maxMs: 30_000 },
    binary: true,
    now: Date.now,
  });
});

test('the global `fetch` is the one of the moment of the call, and is called on no object', async () => {
  const client = createClient({ ...base, fetch: undefined });
  const objects: unknown[] = [];
  vi.stubGlobal('fetch', async function (this: unknown) {
    objects.push(this);
    return new Response('', { status: 500 });
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  await rejectionOf(client.generate({ email: 'user@example.com' }));
  expect(objects).toEqual([undefined]);
});

describe('every method', () => {
  const dii = { email: 'user@example.com' };
  const set = { refreshToken: 'r', responseKeyB64: SECRET };
  type Call = (client: Client, options?: CallOptions) => Promise<unknown>;
  const METHODS: [name: string, isBulk: boolean, call: Call][] = [
    ['generate', false, (client, options) => client.generate(dii, options)],
    ['validate', false, (client, options) => client.validate('token', dii, options)],
    ['refresh', false, (client, options) => client.refresh(set, options)],
    ['optOut', false, (client, options) => client.optOut(dii, options)],
    ['mapIdentities', true, (client, options) => client.mapIdentities([dii], options).toArray()],
    ['mapIdentitiesV2', true, (client, options) => client.mapIdentitiesV2([dii], options).toArray()],
    ['rotatedBuckets', true, (client, options) => client.rotatedBuckets(0, options)],
    ['optOutStatus', true, (client, options) => client.optOutStatus(['id'], options).toArray()],
  ];
  afterEach(() => void vi.useRealTimers());

  test.each(METHODS)('%s: an aborted signal rejects with its reason, and nothing is sent', async (_, _isBulk, call) => {
    const service = scriptedService(silent);
    const reason = new Error('stop');
    const signal = AbortSignal.abort(reason);
    expect(await rejectionOf(call(createClient(optionsFor(service)), { signal }))).toBe(reason);
    expect(service.seen).toEqual([]);
  });

  test.each(METHODS)('%s: its own time limit, or that of the call', async (_, isBulk, call) => {
    vi.useFakeTimers();
    const service = scriptedService(silent);
    const client = createClient({ ...optionsFor(service), timeoutMs: 300, bulkTimeoutMs: 400, retry: { tries: 1 } });
    for (const options of [undefined, { timeoutMs: 200 }]) {
      const rejection = rejectionOf(call(client, options));
      await until(() => service.seen.length === (options ? 2 : 1));
      await vi.advanceTimersByTimeAsync(400);
      const limitMs = options?.timeoutMs ?? (isBulk ? 400 : 300);
      expect((await rejection).message).toMatch(new RegExp(`: no answer within ${limitMs} ms$`));
    }
  });
});

describe('a wrong option of a call rejects with a TypeError, and nothing is sent', () => {
  const dii = { email: 'user@example.com' };
  const known = 'expected one of signal, timeoutMs';
  test.each<[string, object | string, string]>([
    [
      'generate',
      { tcf_consent_string: 'CP' },
      `options.tcf_consent_string: ${known}, tcfConsent, got an unknown name; did you mean tcfConsent?`,
    ],
    ['generate', 'CP', 'options: expected object, got string'],
    ['optOut', { tcfConsent: 'CP' }, `options.tcfConsent: ${known}, got an unknown name`],
    ['generate', { timeoutMs: -1 }, 'timeoutMs: expected a whole number from 1 to 2147483647, got -1'],
    ['optOut', { timeout: 5 }, `options.timeout: ${known}, got an unknown name; did you mean timeoutMs?`],
  ])('%s with %j', async (method, options, message) => {
    const service = scriptedService(plain(500));
    const client = createClient(optionsFor(service));
    const call = client[method as 'generate'](dii, options as never);
    await expect(call).rejects.toThrow(new TypeError(message));
    expect(service.seen).toEqual([]);
  });
});

describe('baseUrl', () => {
  test('a user or password is refused and not quoted', () => {
    const part = fc.string({ minLength: 8, unit: fc.constantFrom(...'abcXYZ019-_.~!$&') });
    fc.assert(
      fc.property(part, fc.option(part), fc.constantFrom('https', 'http'), (user, password, scheme) => {
        const userInfo = password === null ? user : `${user}:${password}`;
        const create = wrong({ baseUrl: `${scheme}://${userInfo}@localhost/identity`, allowInsecure: true });
        expect(create).toThrow(new TypeError(`${BASE_URL}, got a URL with a user or password`));
      }),
    );
  });

  test('allowInsecure accepts plain http for another machine', () => {
    expect(wrong({ baseUrl: 'http://10.0.0.5:8080', allowInsecure: true })).not.toThrow();
  });

  test('a path is kept, trailing slashes are removed', async () => {
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
