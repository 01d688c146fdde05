/** `tessera doctor` and `tessera inspect`, against a real operator on a port. */

import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createOperator } from '../../src/operator/index.ts';
import { type Listening, listen } from '../../src/operator/node.ts';
import { answerOf, createClient } from '../../src/server/index.ts';
import { until } from '../support/clock.ts';
import { tessera } from './fixtures.ts';

const SECRET = Buffer.alloc(32, 7).toString('base64');
const OTHER = Buffer.alloc(32, 8).toString('base64');

let operator: ReturnType<typeof createOperator>;
let listening: Listening;
let env: Record<string, string>;
/** While set, changes the answer of the operator. */
let change: ((response: Response, request: Request) => Response) | undefined;
/** The statuses of the answers since the start of the test. */
let answered: string[] = [];

beforeAll(async () => {
  operator = createOperator({
    rootSecret: SECRET,
    participants: [
      { apiKey: 'key-of-all', clientSecret: SECRET, siteId: 101, roles: ['GENERATOR', 'MAPPER', 'OPTOUT'] },
      { apiKey: 'key-of-reader', clientSecret: SECRET, siteId: 102, roles: ['ID_READER'] },
      { apiKey: 'key-of-nothing', clientSecret: SECRET, siteId: 103, roles: [] },
    ],
  });
  listening = await listen(
    {
      fetch: async (request) => {
        const response = await operator.fetch(request);
        answered.push(`${new URL(request.url).pathname} ${response.status}`);
        return change?.(response, request) ?? response;
      },
    },
    { port: 0 },
  );
  env = { TESSERA_BASE_URL: listening.url, TESSERA_API_KEY: 'key-of-all', TESSERA_CLIENT_SECRET: SECRET };
});
afterAll(async () => {
  await listening.close();
  await operator.close();
});
afterEach(() => {
  change = undefined;
  answered = [];
  vi.useRealTimers();
});

const doctor = async (args: string[] = [], more: Record<string, string> = {}) =>
  tessera(['doctor', ...args], { env: { ...env, ...more } });
const lineOf = (out: readonly string[], name: string) =>
  out.find((line) => line.includes(` ${name} `))?.replace(/ {2,}/g, ' | ');

/** Time stands still, in the middle of a second of the header, which has whole seconds; the service is `ms` behind. */
const setServiceBehind = (ms: number) => {
  vi.useFakeTimers({ now: Math.floor(Date.now() / 1000) * 1000 + 500, toFake: ['Date'] });
  change = (response) => {
    const headers = new Headers(response.headers);
    headers.set('date', new Date(Date.now() - ms).toUTCString());
    return new Response(response.body, { status: response.status, headers });
  };
};

describe('tessera doctor', () => {
  test('says what is well, in aligned lines, and exits with 0', async () => {
    setServiceBehind(0);
    const { code, out, err } = await doctor();
    expect([code, err]).toEqual([0, '']);
    expect(out.map((line) => line.replace(/in \d+ ms/, 'in N ms'))).toEqual([
      `ok       service  ${listening.url} answers, in N ms`,
      'ok       clock    agrees with the service',
      'ok       key      known; roles: GENERATOR, MAPPER, OPTOUT',
      'ok       secret   belongs to the key',
      'ok       cors     pages on https://www.example may refresh',
    ]);
  });

  test('runs no endpoint: every request is refused with 400 or 401', async () => {
    await doctor();
    expect(answered).toEqual([
      '/v2/token/refresh 400',
      '/v2/token/validate 400',
      '/v3/identity/map 400',
      '/v2/token/logout 400',
      '/v2/optout/status 400',
    ]);
  });

  test.each(['shop.example', 'https://shop.example/', 'https://shop.example/page', 'https://user@shop.example', ''])(
    'refuses %j, which is no origin, and sends nothing',
    async (origin) => {
      const { code, err } = await doctor(['--origin', origin]);
      expect(code).toBe(2);
      expect(err).toContain('expected an origin as browsers send it, https://host[:port], without a path');
      expect(answered).toEqual([]);
    },
  );

  test.each(['https://shop.example:8443', 'http://[::1]:8080', 'capacitor://localhost'])(
    'accepts %s',
    async (origin) => {
      expect((await doctor(['--origin', origin])).code).toBe(0);
    },
  );

  test.each([
    ['key-of-reader', 'ok | key | known; roles: MAPPER, SHARER or ID_READER'],
    ['key-of-nothing', 'failed | key | the service does not know this API key, or the key has no role'],
    ['key-of-nobody', 'failed | key | the service does not know this API key, or the key has no role'],
  ])('%s: %s', async (TESSERA_API_KEY, line) => {
    const { code, out } = await doctor([], { TESSERA_API_KEY });
    expect(lineOf(out, 'key')).toBe(line);
    expect(code).toBe(line.startsWith('ok') ? 0 : 1);
    expect(out.join()).not.toContain(TESSERA_API_KEY);
    if (code === 1) {
      expect(out.join('\n')).toContain('check TESSERA_API_KEY: each environment and each operator has its own keys');
      expect(lineOf(out, 'secret')).toBe('skipped | secret | needs a known key');
    }
  });

  test('a secret in place of the key', async () => {
    const { code, out } = await doctor([], { TESSERA_API_KEY: OTHER });
    expect(code).toBe(1);
    expect(out.join('\n')).toContain('are TESSERA_API_KEY and TESSERA_CLIENT_SECRET swapped?');
    expect(out.join()).not.toContain(OTHER);
  });

  test('a secret of another key', async () => {
    const { code, out } = await doctor([], { TESSERA_CLIENT_SECRET: OTHER });
    expect([code, lineOf(out, 'key'), lineOf(out, 'secret')]).toEqual([
      1,
      'ok | key | known; roles: GENERATOR, MAPPER, OPTOUT',
      'failed | secret | the client secret does not belong to this API key',
    ]);
    expect(out.join('\n')).toContain('check TESSERA_CLIENT_SECRET: it was issued together with the key');
  });

  test.each<[ms: number, line: string]>([
    [30_000, 'ok | clock | 30 s off; up to 60 s are accepted'],
    [300_000, 'failed | clock | 300 s ahead of the service'],
    [-300_000, 'failed | clock | 300 s behind the service'],
  ])('a clock that is %i ms off', async (ms, line) => {
    setServiceBehind(ms);
    const { code, out } = await doctor();
    expect(lineOf(out, 'clock')).toBe(line);
    expect(code).toBe(line.startsWith('ok') ? 0 : 1);
  });

  test.each<[what: string, header: string | undefined, line: string]>([
    [
      'no header',
      undefined,
      'failed | cors | pages on https://shop.example cannot read answers: Access-Control-Allow-Origin is missing',
    ],
    [
      'another origin',
      'https://www.example',
      'failed | cors | pages on https://shop.example cannot read answers: Access-Control-Allow-Origin is https://www.example',
    ],
    ['every origin', '*', 'ok | cors | pages on https://shop.example may refresh'],
  ])('CORS: %s', async (_, header, line) => {
    change = (response) => {
      const headers = new Headers(response.headers);
      headers.delete('access-control-allow-origin');
      if (header) headers.set('access-control-allow-origin', header);
      return new Response(response.body, { status: response.status, headers });
    };
    const { code, out } = await doctor(['--origin', 'https://shop.example']);
    expect([lineOf(out, 'cors'), code]).toEqual([line, line.startsWith('ok') ? 0 : 1]);
  });

  test('an address without an operator', async () => {
    change = () => new Response('<html>', { status: 404 });
    const { code, out } = await doctor();
    expect([code, lineOf(out, 'service')]).toEqual([
      1,
      'failed | service | POST /v2/token/refresh answered 404, expected 400 for an empty token',
    ]);
    expect(out.join('\n')).toContain('check --base-url: is this the address of an operator, without a path?');
    // It has been reached.
    expect(lineOf(out, 'secret')).toBe('skipped | secret | needs a known key');
  });

  test('an answer without end is not read to its end', async () => {
    let isCancelled = false;
    const endless = () =>
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
        cancel: () => void (isCancelled = true),
      });
    change = (response, request) =>
      request.url.endsWith('/v2/token/refresh')
        ? new Response(endless(), { status: 400, headers: response.headers })
        : response;
    const { code, out } = await doctor();
    expect([code, lineOf(out, 'service')?.startsWith('ok')]).toEqual([0, true]);
    await until(() => isCancelled);
  });

  test('a service that cannot be reached; the other checks are skipped', async () => {
    const gone = await listen(operator, { port: 0 });
    await gone.close();
    const { code, out } = await doctor(['--base-url', gone.url]);
    expect([code, out.map((line) => line.replace(/ {2,}/g, ' | '))]).toEqual([
      1,
      [
        `failed | service | could not connect to ${gone.url} (ECONNREFUSED); is the operator running?`,
        ...['clock', 'key', 'secret', 'cors'].map((name) => `skipped | ${name} | the service cannot be reached`),
      ],
    ]);
  });

  test('--json prints one object', async () => {
    const { out } = await doctor(['--json']);
    expect(out).toHaveLength(1);
    expect(JSON.parse(out[0]!)).toMatchObject({
      ok: true,
      checks: [{ name: 'service', status: 'ok' }, {}, {}, {}, {}],
    });
  });
});

describe('tessera inspect', () => {
  const inspect = async (content: unknown, args: string[] = []) =>
    tessera(['inspect', '-', ...args], { stdin: [typeof content === 'string' ? content : JSON.stringify(content)] });
  const setOf = async (dii: { email: string } | { phone: string }) => {
    const client = createClient({ baseUrl: listening.url, apiKey: 'key-of-all', clientSecret: SECRET });
    const answer = answerOf(await client.generate(dii));
    if (answer.status !== 'success') throw new Error('expected tokens');
    return answer;
  };

  test('says phase, kinds, lengths and times, and no secret', async () => {
    const answer = await setOf({ email: 'user@example.com' });
    const { code, out, err } = await inspect(answer);
    expect([code, err]).toEqual([0, '']);
    expect(out.map((line) => line.replace(/in .*/, 'in ...'))).toEqual([
      'phase               fresh: the advertising token is valid, no refresh is due',
      'advertising token   218 characters; UID2, from an email address, version 4',
      'refresh token       388 characters',
      'response key        32 bytes',
      'refresh due         in ...',
      'expires             in ...',
      'refresh token ends  in ...',
    ]);
    for (const secret of Object.values(answer.body))
      if (typeof secret === 'string') expect(out.join()).not.toContain(secret);
  });

  test.each([
    [0, 'fresh: the advertising token is valid, no refresh is due'],
    [20 * 60_000, 'due: the advertising token is valid, a refresh is due'],
    [2 * 3_600_000, 'stale: the advertising token has expired, the refresh token has not'],
    [25 * 3_600_000, 'ended: both tokens have expired: generate a new set'],
  ])('after %i ms: %s', async (ms, phase) => {
    const answer = await setOf({ phone: '+12345678901' });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + ms });
    const { out } = await inspect(answer.body);
    expect(out[0]).toBe(`phase               ${phase}`.replace(/^phase +/, out[0]!.match(/^phase +/)![0]));
    expect(out[1]).toContain('UID2, from a phone number');
    expect(JSON.parse((await inspect(answer, ['--json'])).out[0]!)).toMatchObject({ phase: phase.split(':')[0] });
  });

  test('the answer for a user who has opted out', async () => {
    expect(await inspect({ status: 'optout' })).toMatchObject({
      code: 0,
      out: ['opted out: the answer for a user who has opted out, no tokens'],
    });
  });

  test.each([
    ['{}', 'error: standard input: advertising_token: expected string, got undefined'],
    ['[1,\n2', 'error: standard input: expected JSON, got other text at line 2, column 2'],
  ])('%j is wrong use', async (content, message) => {
    expect(await inspect(content)).toMatchObject({ code: 2, out: [], err: message });
  });
});
