import { describe, expect, test } from 'vitest';
import { createOperator } from '../../src/operator/index.ts';
import { toB64 } from '../../src/token/bytes.ts';
import { TokenError } from '../../src/token/index.ts';
import { until } from '../support/clock.ts';
import { BASE, createTestService, envelope, NOON } from './fixtures.ts';

const SEALED = [
  '/v2/token/generate',
  '/v2/token/validate',
  '/v2/token/logout',
  '/v3/identity/map',
  '/v2/identity/map',
  '/v2/identity/buckets',
  '/v2/optout/status',
  '/v2/key/sharing',
  '/v2/key/bidstream',
  '/v2/key/latest',
];
const POSTED = [...SEALED, '/v2/token/refresh'];
const MEBIBYTE = 1_048_576;

describe('API keys and roles', () => {
  const ROLES: Record<string, string[]> = {
    '/v2/token/generate': ['GENERATOR'],
    '/v2/token/validate': ['GENERATOR'],
    '/v2/token/logout': ['OPTOUT'],
    '/v3/identity/map': ['MAPPER'],
    '/v2/identity/map': ['MAPPER'],
    '/v2/identity/buckets': ['MAPPER'],
    '/v2/optout/status': ['MAPPER', 'SHARER', 'ID_READER'],
    '/v2/key/sharing': ['SHARER', 'ID_READER'],
    '/v2/key/bidstream': ['ID_READER'],
    '/v2/key/latest': ['ID_READER'],
  };
  const all = ['GENERATOR', 'MAPPER', 'ID_READER', 'SHARER', 'OPTOUT'] as const;

  test.each(SEALED)('%s', async (path) => {
    for (const role of all) {
      const { http, json } = await createTestService({ roles: [role] }).call(path, {});
      if (ROLES[path]!.includes(role)) expect(http).not.toBe(401);
      else
        expect([http, json]).toEqual([
          401,
          { status: 'unauthorized', message: 'API key not permitted for this operation' },
        ]);
    }
  });

  test.each<[what: string, authorization: (key: string) => string | undefined, http: number]>([
    ['without a header', () => undefined, 401],
    ['an unknown key', () => 'Bearer somebody', 401],
    ['another scheme', (key) => `Basic ${key}`, 401],
    ['the key alone', (key) => key, 401],
    ['the scheme alone', () => 'Bearer', 401],
    ['the key with a character appended', (key) => `Bearer ${key}x`, 401],
    ['the key without its first character', (key) => `Bearer ${key.slice(1)}`, 401],
    ['two spaces', (key) => `Bearer  ${key}`, 401],
    ['the key', (key) => `Bearer ${key}`, 200],
    ['the scheme in lower case', (key) => `bearer ${key}`, 200],
    ['the scheme in upper case', (key) => `BEARER ${key}`, 200],
    ['spaces around it', (key) => ` Bearer ${key} `, 200],
  ])('%s', async (_, authorization, http) => {
    const service = createTestService();
    const header = authorization(service.participant.apiKey);
    const body = toB64(await envelope({ email: 'a@example.com' }, service.participant.clientSecret, NOON));
    const response = await service.post('/v2/token/generate', body, header ? { authorization: header } : {});
    expect(response.status).toBe(http);
    if (http === 401)
      expect(await response.json()).toEqual({ status: 'unauthorized', message: 'API key missing or unknown' });
  });

  test('the API key and its role are checked before the body is read', async () => {
    const { operator, participant } = createTestService({ roles: ['MAPPER'] });
    for (const authorization of ['Bearer somebody', `Bearer ${participant.apiKey}`]) {
      const body = new ReadableStream({ pull: () => expect.unreachable('the body was read') }, { highWaterMark: 0 });
      const init = { method: 'POST', body, duplex: 'half', headers: { authorization } };
      const response = await operator.fetch(new Request(`${BASE}/v2/token/generate`, init as RequestInit));
      expect(response.status).toBe(401);
    }
  });

  test("the derived credentials of integration and production differ, and neither environment accepts the other's", async () => {
    const [integration, production] = [createTestService(), createTestService({ environment: 'production' })];
    expect(integration.participant.apiKey).toMatch(/^UID2-C-I-101-[0-9a-f]{6}\.[A-Za-z0-9]{38}$/);
    expect(production.participant.apiKey).toMatch(/^UID2-C-P-101-[0-9a-f]{6}\.[A-Za-z0-9]{38}$/);
    expect(production.participant.clientSecret).not.toBe(integration.participant.clientSecret);
    const { http } = await production.call('/v2/key/bidstream', undefined, { as: integration.participant });
    expect(http).toBe(401);
  });
});

describe('a body beyond the size limit is refused', () => {
  const authorized = (service: ReturnType<typeof createTestService>) => ({
    authorization: `Bearer ${service.participant.apiKey}`,
  });

  test.each(SEALED)('%s: beyond 1,048,576 bytes', async (path) => {
    const service = createTestService();
    const much = await service.post(path, new Uint8Array(MEBIBYTE + 1), authorized(service));
    expect([much.status, await much.text()]).toEqual([413, 'Request Too Long']);
    expect(much.headers.get('content-type')).toBe('text/plain; charset=UTF-8');
    expect((await service.post(path, new Uint8Array(MEBIBYTE), authorized(service))).status).toBe(400);
  });

  test('a refresh: beyond 4,096 bytes, because nobody knows its caller', async () => {
    const service = createTestService();
    const much = await service.post('/v2/token/refresh', 'A'.repeat(4097));
    expect([much.status, await much.text()]).toEqual([413, 'Request Too Long']);
    expect((await service.post('/v2/token/refresh', 'A'.repeat(4096))).status).toBe(400);
  });

  test.each(POSTED)(
    '%s: an announced length, before the API key is checked and without reading the body',
    async (path) => {
      // Not over HTTP: Node's clients refuse to send a wrong content length.
      const headers = { 'content-length': `${MEBIBYTE + 1}` };
      const request = new Request(BASE + path, { method: 'POST', body: 'x', headers });
      expect((await createTestService().operator.fetch(request)).status).toBe(413);
      expect(request.bodyUsed).toBe(false);
    },
  );

  test('an endless stream is answered at once, and cancelled after 64 MB', async () => {
    let pulled = 0;
    let isCancelled = false;
    const body = new ReadableStream({
      pull: (controller) => {
        pulled++;
        controller.enqueue(new Uint8Array(100_000));
      },
      cancel: () => void (isCancelled = true),
    });
    const request = new Request(`${BASE}/v2/token/refresh`, { method: 'POST', body, duplex: 'half' } as RequestInit);
    expect((await createTestService().operator.fetch(request)).status).toBe(413);
    expect(pulled).toBeLessThan(15);
    await until(() => isCancelled);
    expect(pulled).toBeLessThan(700);
  });
});

describe('CORS', () => {
  const preflight = (path: string, headers: Record<string, string>) =>
    createTestService().operator.fetch(new Request(BASE + path, { method: 'OPTIONS', headers }));
  const COMMON =
    'X-UID2-Client-Version,Access-Control-Request-Method,Access-Control-Allow-Credentials,Access-Control-Allow-Origin,Access-Control-Allow-Headers,Content-Type';

  test.each([...POSTED, '/nowhere'])('answers a preflight request for %s', async (path) => {
    const response = await preflight(path, {
      origin: 'https://page.example',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'x-uid2-client-version',
    });
    expect(response.status).toBe(204);
    expect(await response.text()).toBe('');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'access-control-allow-origin': 'https://page.example',
      'access-control-allow-methods': 'GET,POST,OPTIONS',
      'access-control-allow-headers': path === '/v2/token/validate' ? `${COMMON},Authorization` : COMMON,
      vary: 'Origin',
    });
    for (const name of ['access-control-allow-credentials', 'access-control-max-age'])
      expect(response.headers.has(name)).toBe(false);
  });

  const origin = 'https://page.example';
  test.each<[what: string, path: string, init: RequestInit, http: number]>([
    ['a client error', '/v2/token/refresh', { method: 'POST', body: '%', headers: { origin } }, 400],
    ['a missing API key', '/v2/token/generate', { method: 'POST', body: '', headers: { origin } }, 401],
    [
      'a body that is too large',
      '/v2/token/refresh',
      { method: 'POST', body: new Uint8Array(MEBIBYTE + 1), headers: { origin } },
      413,
    ],
    ['an unknown path', '/nowhere', { headers: { origin } }, 404],
    ['a wrong method', '/v2/token/refresh', { headers: { origin } }, 405],
    ['the health check', '/ops/healthcheck', { headers: { origin } }, 200],
  ])('a page may read the answer to %s', async (_, path, init, http) => {
    const response = await createTestService().operator.fetch(new Request(BASE + path, init));
    expect(response.status).toBe(http);
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    expect(response.headers.get('access-control-expose-headers')).toBe('Date, Retry-After');
    expect(response.headers.get('vary')).toBe('Origin');
  });

  test('the origin `null` of a file is repeated', async () => {
    const response = await preflight('/v2/token/refresh', { origin: 'null', 'access-control-request-method': 'POST' });
    expect(response.headers.get('access-control-allow-origin')).toBe('null');
  });

  test('an answer to a request without origin has no CORS headers, but says that they depend on it', async () => {
    const response = await createTestService().post('/v2/token/refresh', '%');
    expect(response.headers.has('access-control-allow-origin')).toBe(false);
    expect(response.headers.get('vary')).toBe('Origin');
  });

  test.each<[what: string, headers: Record<string, string>]>([
    ['without origin', { 'access-control-request-method': 'POST' }],
    ['that announces no method', { origin }],
  ])('OPTIONS %s is no preflight request, so it is a wrong method', async (_, headers) => {
    const response = await preflight('/v2/token/generate', headers);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
    expect(response.headers.has('access-control-allow-methods')).toBe(false);
  });
});

describe('caches', () => {
  const get = (path: string, init: RequestInit = {}) =>
    createTestService().operator.fetch(new Request(BASE + path, init));
  const origin = 'https://page.example';

  test.each<[what: string, ask: () => Promise<{ readonly headers: Headers }>]>([
    ['generate', () => createTestService().call('/v2/token/generate', { email: 'user@example.com' })],
    ['an unauthorized request', () => createTestService().post('/v2/token/generate', '')],
    [
      'a refresh',
      async () => {
        const service = createTestService();
        return service.refresh(await service.generate({ email: 'user@example.com' }));
      },
    ],
    ['a malformed refresh', () => createTestService().post('/v2/token/refresh', '%')],
    ['a body that is too large', () => createTestService().post('/v2/token/refresh', 'A'.repeat(4097))],
    [
      'a preflight request',
      () =>
        get('/v2/token/refresh', { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } }),
    ],
    ['a wrong method', () => get('/v2/token/refresh')],
    ['an unknown path', () => get('/nowhere')],
    ['the health check', () => get('/ops/healthcheck')],
    ['the metrics', () => get('/metrics')],
    [
      'the metrics on a port of their own',
      () => createTestService().operator.metrics.fetch(new Request(`${BASE}/metrics`)),
    ],
  ])('may not store the answer to %s', async (_, ask) => {
    expect((await ask()).headers.get('cache-control')).toBe('no-store');
  });
});

describe('paths', () => {
  test('a query and repeated leading slashes are ignored', async () => {
    const service = createTestService();
    const { refresh_token } = await service.generate({ email: 'a@example.com' });
    for (const path of ['/v2/token/refresh?client=uid2-sdk-4.0.1', '//v2/token/refresh', '///v2/token/refresh?a=b'])
      expect((await service.post(path, refresh_token)).status).toBe(200);
  });

  test('an unknown path is answered 404', async () => {
    const response = await createTestService().operator.fetch(new Request(`${BASE}/v2/token/refreshing`));
    expect([response.status, await response.text()]).toEqual([
      404,
      '<html><body><h1>Resource not found</h1></body></html>',
    ]);
    expect(response.headers.get('content-type')).toMatch(/^text\/html/);
  });

  test.each([
    ...POSTED.map((path) => ['GET', path, 'POST']),
    ['POST', '/ops/healthcheck', 'GET'],
    ['POST', '/metrics', 'GET'],
  ])('%s %s is answered 405', async (method, path, allow) => {
    const response = await createTestService().operator.fetch(new Request(BASE + path, { method: method! }));
    expect([response.status, response.headers.get('allow'), await response.text()]).toEqual([405, allow, '']);
  });

  test('the health check answers OK', async () => {
    const response = await createTestService().operator.fetch(new Request(`${BASE}/ops/healthcheck`));
    expect([response.status, await response.text()]).toEqual([200, 'OK']);
  });

  test('the trace header is repeated', async () => {
    const response = await createTestService().post('/v2/token/refresh', '%', { 'x-amzn-trace-id': 'Root=1-5' });
    expect(response.headers.get('x-amzn-trace-id')).toBe('Root=1-5');
  });

  test.each(['/v2/identity/map', '/v2/identity/buckets'])(
    '%s announces its deprecation and its end, errors included',
    async (path) => {
      const service = createTestService();
      for (const { headers } of [
        await service.call(path, { since_timestamp: NOON, email: [] }),
        await service.post(path, ''),
        // A body that is too large.
        await service.operator.fetch(
          new Request(BASE + path, { method: 'POST', headers: { 'content-length': `${MEBIBYTE + 1}` } }),
        ),
      ]) {
        expect(headers.get('deprecation')).toBe('@1782777600');
        expect(headers.get('sunset')).toBe('Tue, 30 Jun 2026 00:00:00 GMT');
      }
      expect((await service.call('/v3/identity/map', {})).headers.has('sunset')).toBe(false);
    },
  );
});

test.each([
  ['cannot be reached', 'storage_failed'],
  ['has been closed, because the process stops', 'closed'],
] as const)('while the state %s, requests are answered 503 with Retry-After', async (_, code) => {
  let isDown = false;
  const fail = async () => {
    if (isDown) throw new TokenError(code, 'database: a statement failed: Query read timeout');
    return undefined as never;
  };
  const { operator, participant } = createTestService({
    state: {
      participants: {
        byKeyHashes: async () => (await fail()) ?? [],
        siteIds: fail,
        list: fail,
        revoke: fail,
        put: async () => [],
      },
      optOuts: { epochAt: fail, since: fail, sinceByRawId: fail, put: fail, due: fail },
      check: fail,
      close: async () => {},
    },
  });
  await operator.ready;
  isDown = true;
  const body = toB64(await envelope({ email: 'a@example.com' }, participant.clientSecret, NOON));
  const headers = { authorization: `Bearer ${participant.apiKey}`, origin: 'https://page.example' };
  const generated = await operator.fetch(new Request(`${BASE}/v2/token/generate`, { method: 'POST', body, headers }));
  expect([generated.status, generated.headers.get('retry-after')]).toEqual([503, '5']);
  expect(generated.headers.get('access-control-allow-origin')).toBe('https://page.example');
  expect(await generated.json()).toEqual({
    status: 'unavailable',
    message: 'The database cannot serve this request now',
  });
  const health = await operator.fetch(new Request(`${BASE}/ops/healthcheck`));
  expect([health.status, health.headers.get('retry-after')]).toEqual([503, '1']);
});

test('an unexpected failure is answered 500 and logged with its route, without the message of the error', async () => {
  const lines: string[] = [];
  const log = (fields: object, message: string) => lines.push(JSON.stringify(fields) + message);
  let isReachable = true;
  const fail = async (): Promise<undefined> => {
    if (!isReachable) throw new Error('cannot reach user@example.com');
  };
  const never = fail as () => Promise<never>;
  const operator = createOperator({
    logger: { info: () => {}, warn: () => {}, error: log },
    state: {
      participants: {
        byKeyHashes: async () => (await fail()) ?? [],
        siteIds: never,
        put: async () => [],
        list: never,
        revoke: fail,
      },
      optOuts: { epochAt: never, since: never, sinceByRawId: never, put: fail, due: never },
      close: fail,
    },
  });
  await operator.ready;
  isReachable = false;
  const service = createTestService();
  const request = new Request(`${BASE}/v2/token/generate`, {
    method: 'POST',
    body: '',
    headers: { authorization: `Bearer ${service.participant.apiKey}` },
  });
  const response = await operator.fetch(request);
  expect([response.status, await response.json()]).toEqual([500, { status: 'unknown', message: 'Unknown error' }]);
  expect(lines).toContain('{"path":"/v2/token/generate","error":"Error"}unexpected failure');
  expect(lines.join()).not.toContain('user@example.com');
});
