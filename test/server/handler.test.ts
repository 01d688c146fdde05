import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createClient, TokenError, type TokenHandlerOptions, tokenHandler } from '../../src/server/index.ts';
import { parseAnswer, parseTokenSet } from '../../src/token/token-set.ts';
import { until } from '../support/clock.ts';
import { API_KEY, opened, optionsFor, plain, SECRET, SET, type Step, scriptedService } from './scripted-service.ts';

const URL_OF_HANDLER = 'https://www.publisher.example/tessera/tokens';
const DII = { email: 'user@example.com' };

const handlerOf = (step: Step, options: Partial<TokenHandlerOptions> = {}) => {
  const service = scriptedService(step);
  const errors: unknown[] = [];
  const handler = tokenHandler({
    client: createClient(optionsFor(service)),
    user: () => DII,
    onError: (error) => errors.push(error),
    ...options,
  });
  const post = (headers: Record<string, string> = {}, url = URL_OF_HANDLER) =>
    handler(new Request(url, { method: 'POST', headers }));
  return { handler, post, errors, seen: service.seen };
};
const success = opened({ status: 'success', body: SET });

afterEach(() => void vi.useRealTimers());

describe('answers', () => {
  test('a signed-in user gets the generate answer as JSON, with no-store', async () => {
    const { post, errors } = handlerOf(success);
    const response = await post({ 'sec-fetch-site': 'same-origin' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('cache-control')).toBe('no-store');
    const answer = await response.json();
    expect(answer).toEqual({ status: 'success', body: SET });
    expect(parseAnswer(answer)).toEqual(parseTokenSet(SET));
    expect(errors).toEqual([]);
  });

  test('an opted-out user gets optout', async () => {
    const { post } = handlerOf(opened({ status: 'optout' }));
    const response = await post();
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: 'optout' });
  });

  test('no signed-in user is 204 without a body and without a request', async () => {
    const { post, seen } = handlerOf(success, { user: async () => null });
    const response = await post();
    expect(response.status).toBe(204);
    expect(await response.text()).toBe('');
    expect(Object.fromEntries(response.headers)).toEqual({ 'cache-control': 'no-store' });
    expect(seen).toEqual([]);
  });

  test('a client that a function creates is created for the first signed-in user, and once', async () => {
    const create = vi.fn(() => createClient(optionsFor(scriptedService(success))));
    let isSignedIn = false;
    const { post } = handlerOf(success, { client: create, user: () => (isSignedIn ? DII : null) });
    expect((await post()).status).toBe(204);
    expect(create).not.toHaveBeenCalled();
    isSignedIn = true;
    expect((await post()).status).toBe(200);
    expect((await post()).status).toBe(200);
    expect(create).toHaveBeenCalledOnce();
  });

  test('a function that cannot create the client is 500, reported, and called again', async () => {
    const create = vi.fn((): never => createClient({ baseUrl: 'https://operator.example' } as never) as never);
    const { post, errors } = handlerOf(success, { client: create });
    expect([(await post()).status, (await post()).status]).toEqual([500, 500]);
    expect(create).toHaveBeenCalledTimes(2);
    expect(String(errors[0])).toBe('TypeError: apiKey: expected string, got undefined');
    const wrong = handlerOf(success, { client: () => ({}) as never });
    expect((await wrong.post()).status).toBe(500);
    expect(String(wrong.errors[0])).toContain('client: expected a client from createClient');
  });

  test('the host reads the user from the request and from the further arguments', async () => {
    const service = scriptedService(success);
    const users: string[] = [];
    const handler = tokenHandler({
      client: createClient(optionsFor(service)),
      user: (request, context: { session: string }) => {
        users.push(`${request.headers.get('cookie')} ${context.session}`);
        return DII;
      },
    });
    const request = new Request(URL_OF_HANDLER, { method: 'POST', headers: { cookie: 'id=1' } });
    await handler(request, { session: 'of-user' });
    expect(users).toEqual(['id=1 of-user']);
  });

  test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])('%s is 405 with an Allow header', async (method) => {
    const { handler, seen } = handlerOf(success);
    const response = await handler(new Request(URL_OF_HANDLER, { method }));
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(seen).toEqual([]);
  });
});

describe('callers', () => {
  const INSIDE = 'http://10.0.0.7:3000/tessera/tokens';
  test.each<[string, Record<string, string>, string, number]>([
    [
      'a page of this origin',
      { 'sec-fetch-site': 'same-origin', origin: 'https://www.publisher.example' },
      URL_OF_HANDLER,
      200,
    ],
    [
      'a page of this origin, behind a proxy',
      { 'sec-fetch-site': 'same-origin', origin: 'https://www.publisher.example' },
      INSIDE,
      200,
    ],
    ['a page of this origin, older browser', { origin: 'https://www.publisher.example' }, URL_OF_HANDLER, 200],
    [
      'a page of this host, behind a proxy that terminates TLS',
      { origin: 'https://www.publisher.example' },
      URL_OF_HANDLER.replace('https', 'http'),
      200,
    ],
    ['a server or an app, no browser', {}, URL_OF_HANDLER, 200],
    ['the visitor, no page', { 'sec-fetch-site': 'none' }, URL_OF_HANDLER, 200],
    [
      'Sec-Fetch-Site none with an origin',
      { 'sec-fetch-site': 'none', origin: 'https://evil.example' },
      URL_OF_HANDLER,
      403,
    ],
    ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, URL_OF_HANDLER, 403],
    ['another site without an origin', { 'sec-fetch-site': 'cross-site' }, URL_OF_HANDLER, 403],
    [
      'another subdomain',
      { 'sec-fetch-site': 'same-site', origin: 'https://blog.publisher.example' },
      URL_OF_HANDLER,
      403,
    ],
    ['a sandboxed frame', { origin: 'null' }, URL_OF_HANDLER, 403],
    ['plain http towards https', { origin: 'http://www.publisher.example' }, URL_OF_HANDLER, 403],
    ['an origin with the same prefix', { origin: 'https://www.publisher.example.evil.example' }, URL_OF_HANDLER, 403],
    ['older browser, behind a proxy that hides the host', { origin: 'https://www.publisher.example' }, INSIDE, 403],
  ])('%s', async (_, headers, url, status) => {
    const asked: string[] = [];
    const user = (request: Request) => {
      asked.push(request.url);
      return DII;
    };
    const { post, seen } = handlerOf(success, { user });
    expect((await post(headers, url)).status).toBe(status);
    expect(asked.length).toBe(status === 200 ? 1 : 0);
    expect(seen.length).toBe(status === 200 ? 1 : 0);
  });

  test.each([
    ['https://app.publisher.example', 'same-site'],
    ['capacitor://localhost', 'cross-site'],
    ['app://bundle', 'cross-site'],
    ['http://localhost:8100', 'cross-site'],
  ])('the configured origin %s may call from anywhere and read the answer', async (origin, site) => {
    const { post } = handlerOf(success, { origins: ['https://www.other.example', origin] });
    const response = await post({ origin, 'sec-fetch-site': site }, INSIDE);
    expect(response.status).toBe(200);
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    expect(response.headers.get('access-control-allow-credentials')).toBe('true');
    expect(response.headers.get('vary')).toBe('origin');
  });

  const preflight = (origin: string, origins?: readonly string[]) => {
    const { handler, errors, seen } = handlerOf(success, { origins });
    const headers = {
      origin,
      'sec-fetch-site': 'same-site',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-tcf-consent',
    };
    return { response: handler(new Request(URL_OF_HANDLER, { method: 'OPTIONS', headers })), errors, seen };
  };

  test('a configured origin may send headers of its own: its preflight is 204 and permits them', async () => {
    const { response, errors, seen } = preflight('https://app.publisher.example', ['https://app.publisher.example']);
    const { status, headers } = await response;
    expect([status, errors, seen]).toEqual([204, [], []]);
    expect(Object.fromEntries(headers)).toEqual({
      'access-control-allow-origin': 'https://app.publisher.example',
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'x-tcf-consent',
      'cache-control': 'no-store',
      vary: 'origin',
    });
  });

  test.each([[['https://app.publisher.example']], [undefined]])(
    'the preflight of another origin is 405 and permits nothing (origins: %j)',
    async (origins) => {
      const { status, headers } = await preflight('https://evil.example', origins).response;
      expect(status).toBe(405);
      expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
    },
  );

  test('configured origins do not allow other sites', async () => {
    const { post } = handlerOf(success, { origins: ['https://app.publisher.example'] });
    const response = await post({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' });
    expect(response.status).toBe(403);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    expect(await response.json()).toEqual({ status: 'error' });
  });

  test('without configured origins there are no CORS headers', async () => {
    const { post } = handlerOf(success);
    const response = await post({ origin: 'https://www.publisher.example' });
    expect([...response.headers.keys()]).toEqual(['cache-control', 'content-type']);
  });
});

describe('failures: the page gets a status, the host the error', () => {
  test.each<[string, Step, number, string]>([
    ['unauthorized', plain(401, { status: 'unauthorized' }), 502, 'unauthorized'],
    [
      'a request refused for another reason than its DII',
      plain(400, { status: 'client_error', message: 'Required Parameter Missing' }),
      502,
      'client_error',
    ],
    ['an internal error', plain(500), 502, 'http_status'],
    ['an overloaded service', plain(503), 503, 'http_status'],
    ['a rate limit', plain(429), 503, 'rate_limited'],
    ['a broken answer', plain(200, '<html>'), 502, 'malformed_response'],
    ['a broken connection', () => Promise.reject(new TypeError('fetch failed')), 502, 'network'],
  ])('%s', async (_, step, status, code) => {
    const { post, errors } = handlerOf(step);
    const response = await post();
    expect(response.status).toBe(status);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.text()).toBe('{"status":"error"}');
    expect(errors).toEqual([expect.objectContaining({ name: 'TokenError', code })]);
  });

  const expectedDii = 'tokenHandler: user: expected DII, or null if nobody is signed in';
  test.each<[string, unknown, string]>([
    [
      'an invalid address',
      { email: 'not-an-address' },
      'generate: POST /v2/token/generate not sent: expected an email address (Invalid Identifier)',
    ],
    [
      'an invalid hash',
      { phoneHash: 'abc' },
      'generate: POST /v2/token/generate not sent: expected a hash: 32 bytes in base64 or hexadecimal (Invalid Identifier)',
    ],
    ['no address', { email: null }, `${expectedDii}, got email as null`],
    [
      'neither an address nor a number',
      { email: undefined, phone: null },
      `${expectedDii}, got email as undefined, phone as null`,
    ],
    ['a forgotten return', undefined, `${expectedDii}, got undefined`],
  ])('a user with %s is 204, like nobody, and reported', async (_, dii, message) => {
    const { post, errors, seen } = handlerOf(success, { user: () => dii as never });
    const response = await post();
    expect([response.status, await response.text()]).toEqual([204, '']);
    expect(errors).toEqual([expect.objectContaining({ name: 'TokenError', code: 'client_error', message })]);
    expect(seen).toEqual([]);
  });

  test('a signed-in user whose DII the service rejects is 204, and reported', async () => {
    const { post, errors, seen } = handlerOf(plain(400, { status: 'client_error', message: 'Invalid Identifier' }));
    expect([(await post()).status, seen.length]).toEqual([204, 1]);
    expect(errors).toEqual([expect.objectContaining({ code: 'client_error', status: 400 })]);
  });

  test('no answer of the service is 504 after timeoutMs', async () => {
    vi.useFakeTimers();
    const { post, errors, seen } = handlerOf(() => new Promise<Response>(() => {}), { timeoutMs: 5000 });
    const answer = post();
    await until(() => seen.length === 1);
    await vi.advanceTimersByTimeAsync(5000);
    expect((await answer).status).toBe(504);
    expect(errors).toEqual([expect.objectContaining({ code: 'timeout' })]);
  });

  test.each<[string, RequestInit, number, string]>([
    [
      'from a page of another site',
      { method: 'POST', headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' } },
      403,
      'tokenHandler: caller: expected a page on https://www.publisher.example, or on an origin in the origins option, got https://evil.example (Sec-Fetch-Site: cross-site)',
    ],
    [
      'from an older browser on another site',
      { method: 'POST', headers: { origin: 'https://evil.example' } },
      403,
      'tokenHandler: caller: expected a page on https://www.publisher.example, or on an origin in the origins option, got https://evil.example',
    ],
    [
      'from a page that sends no origin',
      { method: 'POST', headers: { 'sec-fetch-site': 'same-site' } },
      403,
      'tokenHandler: caller: expected a page on https://www.publisher.example, or on an origin in the origins option, got a page that sends no Origin (Sec-Fetch-Site: same-site)',
    ],
    ['by another method', { method: 'GET' }, 405, 'tokenHandler: method: expected POST, got GET'],
  ])('a request %s reaches onError with a reason, and the page with a status', async (_, init, status, message) => {
    const { handler, errors, seen } = handlerOf(success);
    const response = await handler(new Request(URL_OF_HANDLER, init));
    expect([response.status, await response.text()]).toEqual([status, '{"status":"error"}']);
    expect(errors).toEqual([expect.objectContaining({ code: 'client_error', status, message })]);
    expect(seen).toEqual([]);
  });

  test.each(['origin', 'sec-fetch-site'])('the header %s of any length is quoted in part', async (name) => {
    const { post, errors } = handlerOf(success);
    await post({ [name]: `https://${'a'.repeat(10_000)}.example` });
    expect((errors[0] as Error).message.length).toBeLessThan(500);
  });

  test.each<[status: number, headers: Record<string, string>, answered: number, retryAfter: string | null]>([
    [429, { 'retry-after': '7' }, 503, '7'],
    [503, { 'retry-after': '7' }, 503, '7'],
    [503, {}, 503, null],
    [500, { 'retry-after': '7' }, 502, null],
  ])(
    'after %i with %j of the service the page gets %i with Retry-After %s',
    async (status, headers, answered, wait) => {
      const response = await handlerOf(plain(status, '', headers)).post();
      expect([response.status, response.headers.get('retry-after')]).toEqual([answered, wait]);
    },
  );

  test('a `user` function that rejects is 500', async () => {
    const fault = new Error('session store is down');
    const { post, errors } = handlerOf(success, { user: () => Promise.reject(fault) });
    const response = await post();
    expect(response.status).toBe(500);
    expect(await response.text()).toBe('{"status":"error"}');
    expect(errors).toEqual([fault]);
  });

  test.each(['user', 'tcfConsent', 'client'])(
    'a function `%s` of the host that throws a TokenError is 500, not the status of a failed service',
    async (name) => {
      for (const code of ['no_consent', 'timeout', 'rate_limited', 'storage_failed'] as const) {
        const thrown = new TokenError(code, 'thrown by the host');
        const throwing = () => {
          throw thrown;
        };
        const { post, errors, seen } = handlerOf(success, { [name]: throwing });
        expect((await post()).status).toBe(500);
        expect(errors).toEqual([thrown]);
        expect(seen).toEqual([]);
      }
    },
  );

  const EXPECTED_DII =
    'user: DII: expected an object with exactly one of email, emailHash, phone, phoneHash as a string';
  test.each<[name: string, returned: unknown, message: string]>([
    ['user', DII.email, `${EXPECTED_DII}, got string`],
    ['user', '', `${EXPECTED_DII}, got empty string`],
    ['user', 1, `${EXPECTED_DII}, got number`],
    ['user', [DII], `${EXPECTED_DII}, got array`],
    ['user', { id: 1 }, `${EXPECTED_DII}, got none of them`],
    ['user', { ...DII, phone: '+12345678901' }, `${EXPECTED_DII}, got email and phone`],
    ['user', { email: 1 }, `${EXPECTED_DII}, got email as number`],
    ['user', { email: null, id: 1 }, `${EXPECTED_DII}, got email as null`],
    ['user', { email: Promise.resolve(DII.email) }, `${EXPECTED_DII}, got email as a Promise: await it`],
    ['tcfConsent', 1, 'tcfConsent: expected string, got number'],
    ['client', {}, 'client: expected a client from createClient, or a function that creates one, got object'],
  ])('a function `%s` of the host that returns %j is 500, and the console says what is wrong', async (...row) => {
    const [name, returned, message] = row;
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => log.mockRestore());
    const { post, errors, seen } = handlerOf(success, { [name]: () => returned });
    expect([(await post()).status, seen]).toEqual([500, []]);
    expect(errors).toEqual([new TokenError('client_error', `tokenHandler: ${message}`)]);
    await handlerOf(success, { [name]: () => returned, onError: undefined }).post();
    expect(log.mock.calls).toEqual([[`[tessera] tokenHandler: ${message}`]]);
  });

  test('an onError that throws changes nothing', async () => {
    const { post } = handlerOf(plain(500), {
      onError: () => {
        throw new Error('logger is down');
      },
    });
    expect((await post()).status).toBe(502);
  });

  test('without onError, the console has one line a second, without DII', async () => {
    vi.useFakeTimers();
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => log.mockRestore());
    const post = (step: Step, more: object = {}) => handlerOf(step, { ...more, onError: undefined });
    const failing = post(plain(503));
    for (let call = 0; call < 3; call++) await failing.post();
    vi.setSystemTime(Date.now() + 1000);
    await failing.post();
    const line = ['[tessera] generate: POST /v2/token/generate answered 503'];
    expect(log.mock.calls.map(([text]) => [`${text}`.slice(0, line[0]!.length)])).toEqual([line, line]);
    log.mockClear();
    const fail = () => Promise.reject(new RangeError(DII.email));
    for (const thrower of ['user', 'tcfConsent', 'client.generate']) {
      await post(success, thrower === 'client.generate' ? { client: { generate: fail } } : { [thrower]: fail }).post();
      expect(log.mock.calls).toEqual([
        [`[tessera] tokenHandler: ${thrower} failed with RangeError; pass onError to see it`],
      ]);
      log.mockClear();
    }
  });

  test('no answer contains a key, secret or DII', async () => {
    const leaky = plain(400, { status: 'client_error', message: `${API_KEY} ${SECRET} ${DII.email}` });
    for (const step of [leaky, success, plain(401)]) {
      const response = await handlerOf(step).post();
      const told = `${JSON.stringify([...response.headers])} ${await response.text()}`;
      for (const hidden of [API_KEY, SECRET, DII.email]) expect(told).not.toContain(hidden);
    }
  });
});

describe('wrong options are TypeErrors', () => {
  const client = { generate: () => Promise.reject(new TokenError('network', '')) };
  test.each<[object, string]>([
    [
      { user: () => null },
      'client: expected a client from createClient, or a function that creates one, got undefined',
    ],
    [{ client }, 'user: expected function, got undefined'],
    [
      { client, user: () => null, origin: 'https://a.example' },
      'origin: expected one of client, user, origins, onError, tcfConsent, timeoutMs, got an unknown name; did you mean origins?',
    ],
    [{ client, user: () => null, onError: 'log' }, 'onError: expected function, got string'],
    [{ client, user: () => null, tcfConsent: 'CP' }, 'tcfConsent: expected function, got string'],
    [{ client, user: () => null, origins: 'https://a.example' }, 'origins: expected array, got string'],
    ...[
      '*',
      'https://*.a.example',
      'https://a.example/',
      'null',
      'file://',
      'capacitor:localhost',
      'capacitor://user@localhost',
      'Capacitor://localhost',
      'https://a.example:443',
      'data:text/html,',
      'www.publisher.example',
    ].map((origin): [object, string] => [
      { client, user: () => null, origins: [origin] },
      `origins: expected each as 'scheme://host', without a path, got '${origin}'`,
    ]),
    [
      { client, user: () => null, origins: [undefined] },
      "origins: expected each as 'scheme://host', without a path, got undefined",
    ],
    [{ client, user: () => null, timeoutMs: 0 }, 'timeoutMs: expected a whole number from 1 to 2147483647, got 0'],
    [
      { client, user: () => null, timeoutMs: '5s' },
      'timeoutMs: expected a whole number from 1 to 2147483647, got string',
    ],
  ])('%j', (options, message) => expect(() => tokenHandler(options as never)).toThrow(new TypeError(message)));
});
