/** The messages of a session, by value: what failed, what was expected, what came, the remedy. And what it warns of. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createSession } from '../../src/session/index.ts';
import { TokenError } from '../../src/token/errors.ts';
import { MINUTE } from '../support/fixtures.ts';
import {
  answersPlain,
  answersSealed,
  BASE_URL,
  fixtureForEachTest,
  offline,
  type Service,
  success,
} from './fixtures.ts';

const fixture = fixtureForEachTest();
let warn: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
});
afterEach(() => vi.unstubAllGlobals());

/** The error that `getToken` rejects with. */
const failureOf = async (options: Parameters<typeof fixture.open>[0]) => {
  const { session } = fixture.open(options);
  return (await session.getToken().catch((error) => error)) as TokenError;
};

describe('a failure of `provide`', () => {
  class HTTPError extends Error {
    response = { status: 503 };
  }
  const answered = (status: number, url = 'https://www.example/token?user=jane') =>
    Object.defineProperty(new Response('no', { status }), 'url', { value: url });
  const notFound = 'the server has no route there';
  const refused = 'tokenHandler refuses pages of other origins, unless its option origins names them';
  const busy = 'the onError of tokenHandler, or the log of the server, says why';
  test.each<[string, () => unknown, string, number | undefined]>([
    ['an error', () => Promise.reject(new RangeError('jane')), 'provide rejected with RangeError', undefined],
    [
      'an exception in the same task',
      () => {
        throw new RangeError('jane');
      },
      'provide rejected with RangeError',
      undefined,
    ],
    ['a string', () => Promise.reject('jane'), 'provide rejected with String', undefined],
    ['nothing', () => Promise.reject(), 'provide rejected with undefined', undefined],
    [
      'what `response.json()` throws of a page',
      () => new Response('<html>').json(),
      'provide rejected with SyntaxError; was the answer JSON? check response.ok before response.json()',
      undefined,
    ],
    [
      'what `fetch` throws',
      () => Promise.reject(new TypeError('Failed to fetch')),
      'provide rejected with TypeError; was it fetch? then the network failed, or CORS or CSP forbids the request',
      undefined,
    ],
    [
      'an error of a library with a response',
      () => Promise.reject(new HTTPError()),
      `provide rejected with HTTPError (status 503); ${busy}`,
      503,
    ],
    [
      'an error with a status',
      () => Promise.reject(Object.assign(new Error(), { status: 404 })),
      `provide rejected with Error (status 404); ${notFound}`,
      404,
    ],
    ['a response with status 404', async () => answered(404), `provide: /token answered 404; ${notFound}`, 404],
    ['a response with status 403', async () => answered(403), `provide: /token answered 403; ${refused}`, 403],
    ['a response with status 500', async () => answered(500), `provide: /token answered 500; ${busy}`, 500],
    [
      'a response that was thrown',
      () => Promise.reject(answered(404)),
      `provide rejected with Response (status 404); ${notFound}`,
      404,
    ],
    ['a response without an address', async () => answered(401, ''), 'provide: the server answered 401', 401],
  ])('%s has the code provide_failed', async (_, provide, message, status) => {
    const error = await failureOf({ provide: provide as never });
    expect(error).toMatchObject({ code: 'provide_failed', message });
    expect(error.status).toBe(status);
    expect(error.cause).toBeUndefined();
    const refusals = [403, 404, 405].includes(status ?? 0) ? 1 : 0;
    expect(warn).toHaveBeenCalledTimes(refusals);
  });

  test('that is a TokenError is passed on', async () => {
    const own = new TokenError('timeout', 'own words');
    expect(await failureOf({ provide: () => Promise.reject(own) })).toBe(own);
  });

  test.each<[string, unknown, string]>([
    ['a Response', Response.json(success(1)), 'token set: expected object, got a Response: use await response.json()'],
    [
      'a string',
      '{}',
      'token set: expected object, got a string: use JSON.parse, or response.json() for response.text()',
    ],
    ['a failure of tokenHandler', { status: 'error' }, 'status: expected success or optout, got "error"'],
  ])('%s is no token set', async (_, answer, message) => {
    expect(await failureOf({ provide: async () => answer as never })).toMatchObject({
      code: 'invalid_token_set',
      message,
    });
  });
});

describe('what is given to setTokens is named', () => {
  test.each<[string, unknown, string]>([
    ['a Response', new Response(), 'token set: expected object, got a Response: use await response.json()'],
    ['a Promise', Promise.resolve(success(1)), 'token set: expected object, got a Promise: await it'],
    [
      'a JSON string',
      JSON.stringify(success(1)),
      'token set: expected object, got a string: use JSON.parse, or response.json() for response.text()',
    ],
    ['undefined', undefined, 'token set: expected object, got undefined'],
    ['null', null, 'token set: expected object, got null'],
  ])('%s', async (_, given, message) => {
    const { session } = fixture.open();
    await expect(session.setTokens(given as never)).rejects.toMatchObject({ code: 'invalid_token_set', message });
  });
});

describe('a failure of a refresh', () => {
  const request = `refresh: no answer to POST ${BASE_URL}/v2/token/refresh`;
  const refreshed = async (service: Service) => {
    fixture.serve(service);
    const { session } = fixture.openStored();
    await session.ready;
    return (await session.refresh().catch((error) => error)) as TokenError;
  };
  const at = (url: string) => vi.stubGlobal('location', new URL(url));

  test.each<[string, () => void, string]>([
    [
      'by a page of another origin',
      () => at('https://www.example/page'),
      '; the service cannot be reached, or does not permit pages of https://www.example (CORS): see the console',
    ],
    ['by a page of the same origin', () => at(`${BASE_URL}/page`), '; the service cannot be reached'],
    ['on a server', () => vi.stubGlobal('location', undefined), '; the service cannot be reached'],
    [
      'without a network',
      () => vi.spyOn(navigator, 'onLine', 'get').mockReturnValue(false),
      '; this device is offline',
    ],
  ])('names request and reason %s', async (_, prepare, reason) => {
    prepare();
    expect(await refreshed(offline)).toMatchObject({ code: 'network', message: request + reason });
  });

  test.each<[string, Service, string, string]>([
    ['a status', answersPlain(503), 'http_status', 'refresh: POST /v2/token/refresh answered 503'],
    [
      'a text',
      answersPlain(200, 'x'),
      'malformed_response',
      'refresh: the answer is not a sealed token set or opt-out',
    ],
    [
      'another answer',
      answersSealed({ status: 'x' }),
      'malformed_response',
      'refresh: the answer is not a sealed token set or opt-out',
    ],
    [
      'another key',
      () => answersSealed(success(2))({ n: 9 } as never),
      'decrypt_failed',
      'refresh: the answer does not open under the key of the set sent',
    ],
    [
      'the end of the set',
      answersPlain(400, { status: 'expired_token' }),
      'refresh_rejected',
      'The service refused the refresh token for good; a new set is needed.',
    ],
  ])('names %s', async (_, service, code, message) => {
    expect(await refreshed(service)).toMatchObject({ code, message });
  });

  test('names a pause that the service has asked for', async () => {
    fixture.serve(answersPlain(503, '', { 'retry-after': '60' }));
    const { session, store } = fixture.openStored();
    await session.ready;
    await session.refresh().catch(() => {});
    const other = fixture.open({ store });
    await other.session.ready;
    await expect(other.session.refresh()).rejects.toMatchObject({
      code: 'network',
      message: 'refresh: too early to ask the service again; see state.next',
    });
  });
});

describe('the Content-Security-Policy of the page', () => {
  const violation = (blockedURI: string, effectiveDirective = 'connect-src') =>
    document.dispatchEvent(Object.assign(new Event('securitypolicyviolation'), { blockedURI, effectiveDirective }));

  test('that blocks the operator is named, once in the console and in the error', async () => {
    const baseUrl = 'https://blocked.example';
    fixture.serve(async () => {
      violation(`${baseUrl}/v2/token/refresh`);
      throw new TypeError('Failed to fetch');
    });
    const { session } = fixture.open({ baseUrl, tokens: success(1) });
    await session.ready;
    await expect(session.refresh()).rejects.toMatchObject({
      code: 'network',
      message: `refresh: no answer to POST ${baseUrl}/v2/token/refresh; the Content-Security-Policy of this page blocks it: add ${baseUrl} to connect-src`,
    });
    violation(`${baseUrl}/v2/token/refresh`);
    expect(warn.mock.calls).toEqual([
      [
        `[tessera] the Content-Security-Policy of this page blocks the operator: add ${baseUrl} to connect-src (https://github.com/tessera-id/tessera/blob/main/docs/errors.md#network)`,
      ],
    ]);
  });

  test('that blocks something else is none of our business; after close() nothing is', () => {
    const { session } = fixture.open();
    violation('https://ads.example/pixel');
    violation(`${BASE_URL}/logo.png`, 'img-src');
    session.close();
    violation(`${BASE_URL}/v2/token/refresh`);
    expect(warn).not.toHaveBeenCalled();
  });
});

describe('a second session of one name', () => {
  const open = (name: string) => createSession({ baseUrl: BASE_URL, name, fetch: fixture.fetch });

  test('on one page is named in the console, unless the first one is closed', () => {
    const one = open('twice');
    open('another').close();
    expect(warn).not.toHaveBeenCalled();
    const two = open('twice');
    const text =
      '[tessera] createSession: a session named "twice" is open on this page: use that one, close() it, or give another name';
    expect(warn.mock.calls).toEqual([[text]]);
    one.close();
    one.close();
    two.close();
    open('twice').close();
    expect(warn).toHaveBeenCalledOnce();
  });
});

describe('debug: true', () => {
  test('prints every change of state.next, and no token', async () => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    const { session } = fixture.open({ debug: true, tokens: success(1) });
    await session.ready;
    await fixture.advance(16 * MINUTE);
    const steps = log.mock.calls.map(([name, next]) => [name, (next as { reason: string }).reason]);
    expect(steps).toContainEqual(['tessera', 'in_progress']);
    expect(steps.at(-1)).toEqual(['tessera', 'refresh_from']);
    expect(JSON.stringify(log.mock.calls)).not.toMatch(/advertising-|refresh-\d/);
    session.close();
  });

  test('leaves the log to a logger that is given', async () => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    const logger = { debug: vi.fn() };
    const { session } = fixture.open({ debug: true, logger });
    await session.ready;
    expect(log).not.toHaveBeenCalled();
    expect(logger.debug).toHaveBeenCalled();
  });
});
