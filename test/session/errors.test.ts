/** The messages of a session, by value: what failed, what was expected, what came, the remedy. And what it warns of. */

import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createSession, memoryStore, type Session, type SessionOptions } from '../../src/session/index.ts';
import { TokenError } from '../../src/token/errors.ts';
import { MINUTE } from '../support/clock.ts';
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
const DOCS = 'https://github.com/tessera-id/tessera/blob/main/docs/errors.md';
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
  const refused = 'tokenHandler rejects pages on other origins, unless its origins option lists them';
  const busy = 'see the onError callback of tokenHandler or the log of the server';
  test.each<[string, () => unknown, string, number | undefined]>([
    [
      'an error',
      () => Promise.reject(new RangeError('jane')),
      'provide rejected with RangeError; see the console',
      undefined,
    ],
    [
      'an exception in the same task',
      () => {
        throw new RangeError('jane');
      },
      'provide rejected with RangeError; see the console',
      undefined,
    ],
    ['a string', () => Promise.reject('jane'), 'provide rejected with String', undefined],
    ['nothing', () => Promise.reject(), 'provide rejected with undefined', undefined],
    [
      'what `response.json()` throws of a page',
      () => new Response('<html>').json(),
      'provide rejected with SyntaxError; the response may not be JSON: check response.ok before response.json()',
      undefined,
    ],
    [
      'what `fetch` throws',
      () => Promise.reject(new TypeError('Failed to fetch')),
      'provide rejected with TypeError; if fetch threw it, the network failed, or CORS or CSP blocks the request',
      undefined,
    ],
    [
      'a mistake in the code of the page',
      () => (undefined as unknown as () => void)(),
      'provide rejected with TypeError; a bug in provide, or in what it calls: see the console',
      undefined,
    ],
    [
      'a name that is not there',
      () => {
        throw new ReferenceError('tracker is not defined');
      },
      'provide rejected with ReferenceError; a bug in provide, or in what it calls: see the console',
      undefined,
    ],
    [
      'a login page after a redirect',
      async () => {
        const init = { headers: { 'content-type': 'text/html; charset=utf-8' } };
        const page = new Response('<html>', init);
        const url = 'https://www.example/login?next=jane';
        return Object.defineProperties(page, { redirected: { value: true }, url: { value: url } });
      },
      'provide: /login answered 200 with an HTML page after a redirect to /login; if it is a login page, let the route answer 204 when nobody is signed in',
      200,
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
    // The exception itself only if the code of the page threw it: another may quote personal data.
    const thrown = message.endsWith('see the console') ? [expect.any(Error)] : [];
    expect(warn.mock.calls).toEqual([[`[tessera] ${message} (${DOCS}#provide_failed)`, ...thrown]]);
  });

  test('that is JSON with `ok: false` and words as status does not quote the words', async () => {
    const error = await failureOf({ provide: (async () => ({ ok: false, status: 'no account for jane' })) as never });
    expect([error.code, error.message, error.status]).toEqual([
      'invalid_token_set',
      'provide: status: expected success or optout, got another string',
      undefined,
    ]);
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
    ['nothing', undefined, 'returned undefined: return the set, or null if nobody is signed in'],
    ['a failure of tokenHandler', { status: 'error' }, 'status: expected success or optout, got "error"'],
  ])('%s is no token set, and the console says so', async (_, answer, fault) => {
    const message = `provide: ${fault}`;
    const error = await failureOf({ provide: async () => answer as never });
    expect(error).toMatchObject({ code: 'invalid_token_set', message });
    expect(warn.mock.calls).toEqual([[`[tessera] ${message} (${DOCS}#invalid_token_set)`]]);
  });
});

const LABEL = 'user: expected an opaque label, for example an account ID, got an address';
test.each<[what: string, options: Partial<SessionOptions>, act: (session: Session) => unknown]>([
  ['the option', { user: 'jane@example.com' }, () => {}],
  ['signIn', {}, (session) => session.signIn({ user: 'jane@example.com' }).catch(() => {})],
  ['setTokens', {}, (session) => session.setTokens(success(1), { user: 'jane@example.com' })],
])('an address as a label: %s', async (_, options, act) => {
  const { session } = fixture.open(options);
  await session.ready;
  await act(session);
  expect(warn.mock.calls).toContainEqual([`[tessera] ${LABEL}`]);
  session.close();
});

test('an invalid set that the page supplies without waiting: the console says so', async () => {
  const { session } = fixture.open();
  void session.setTokens('text' as never);
  await fixture.settle();
  const message =
    'setTokens: token set: expected object, got a string: use JSON.parse, or response.json() for response.text()';
  expect(session.state.lastError).toMatchObject({ code: 'invalid_token_set', message });
  expect(warn.mock.calls).toEqual([[`[tessera] ${message} (${DOCS}#invalid_token_set)`]]);
});

describe('a warning about a failure', () => {
  const fails = (texts: string[], listens: boolean) => {
    const provide = () => Promise.reject(new TokenError('provide_failed', texts.shift()));
    const session = createSession({ baseUrl: BASE_URL, fetch: fixture.fetch, name: 'failing', provide });
    onTestFinished(() => session.close());
    if (listens) session.on('error', () => {});
    return session;
  };
  test.each([
    ['comes once for each message if nobody listens to `error`', false, ['one', 'two']],
    ['comes once for each session if somebody does', true, ['one']],
  ])('%s', async (_, listens, expected) => {
    const session = fails(['one', 'one', 'two', 'one'], listens);
    await session.ready;
    for (let call = 0; call < 4; call++) await session.refresh().catch(() => {});
    await fixture.settle();
    expect(warn.mock.calls).toEqual(expected.map((text) => [`[tessera] ${text} (${DOCS}#provide_failed)`]));
  });
});

test('the JSON of `state` has the message of the last failure', async () => {
  const { session } = fixture.open({ provide: async () => new Response('', { status: 404 }) as never });
  await session.getToken().catch(() => {});
  expect(JSON.parse(JSON.stringify(session.state)).lastError).toEqual({
    name: 'TokenError',
    code: 'provide_failed',
    message: 'provide: the server answered 404; the server has no route there',
    status: 404,
  });
  expect(session.state.lastError!.stack).toContain('provide: the server answered 404');
});

describe('a form that is mistaken for a token set has a remedy', () => {
  const { advertising_token: advertisingToken, ...rest } = success(1).body;
  const tokens = { ...rest, advertisingToken };
  const promised = 'body: expected object, got a Promise: await it';
  const ofClient =
    'token set: expected the names of the protocol (advertising_token), got those of the server client (advertisingToken): pass answerOf(result), with the result of generate';
  const MISTAKES: [what: string, given: unknown, fault: string][] = [
    ['a result of the server client', { status: 'success', tokens }, ofClient],
    ['the tokens of a result', tokens, ofClient],
    ['the tokens of a result as the body', { status: 'success', body: tokens }, ofClient],
    ['a body that is a Promise', { status: 'success', body: Promise.resolve(success(1).body) }, promised],
    ['a body that is a Promise, beside an HTTP status', { status: 200, body: Promise.resolve(success(1)) }, promised],
  ];
  test.each(MISTAKES)('%s', async (_, given, fault) => {
    const { session } = fixture.open();
    const code = 'invalid_token_set';
    await expect(session.setTokens(given as never)).rejects.toMatchObject({ code, message: `setTokens: ${fault}` });
    expect(await failureOf({ provide: async () => given as never })).toMatchObject({
      code,
      message: `provide: ${fault}`,
    });
    const { session: rendered } = fixture.open({ tokens: given as never });
    await fixture.settle();
    expect(rendered.state.lastError).toMatchObject({ code, message: `tokens: ${fault}` });
  });
});

describe('an invalid argument of setTokens is described', () => {
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
  ])('%s', async (_, given, fault) => {
    const { session } = fixture.open();
    const message = `setTokens: ${fault}`;
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
      "; the service cannot be reached, or it does not permit pages on https://www.example (CORS), or this page's Content Security Policy blocks it: see the console",
    ],
    ['by a page of the same origin', () => at(`${BASE_URL}/page`), '; the service cannot be reached'],
    ['on a server', () => vi.stubGlobal('location', undefined), '; the service cannot be reached'],
    [
      'without a network',
      () => vi.spyOn(navigator, 'onLine', 'get').mockReturnValue(false),
      '; this device is offline',
    ],
    [
      'by a page of a file',
      () => at('file:///home/page.html'),
      '; the service cannot be reached, or it does not permit a page without an origin, such as a file (CORS): serve the page from http://localhost',
    ],
  ])('names request and reason %s', async (_, prepare, reason) => {
    prepare();
    expect(await refreshed(offline)).toMatchObject({ code: 'network', message: request + reason });
  });

  test('on an https page whose operator is on http, the error mentions mixed content', async () => {
    at('https://www.example/page');
    fixture.serve(offline);
    const baseUrl = 'http://operator.example';
    const { session } = fixture.open({ baseUrl, allowInsecure: true, tokens: success(1) });
    await session.ready;
    const reason = '; browsers block requests from an https page to http (mixed content)';
    await expect(session.refresh()).rejects.toThrow(`refresh: no answer to POST ${baseUrl}/v2/token/refresh${reason}`);
  });

  test.each<[string, Service, string, string]>([
    ['a status', answersPlain(503), 'http_status', 'refresh: POST /v2/token/refresh answered 503'],
    [
      'a path without an operator',
      answersPlain(404, '<html>'),
      'http_status',
      `refresh: POST /v2/token/refresh answered 404; there is no operator at ${BASE_URL}: baseUrl has a wrong path, or leads to another service`,
    ],
    [
      'a refusal on the way',
      answersPlain(403, '<html>'),
      'http_status',
      `refresh: POST /v2/token/refresh answered 403; a proxy or a firewall in front of ${BASE_URL} rejects the request`,
    ],
    [
      'an HTML page',
      answersPlain(200, '\n<!doctype html><title>Sign in</title>'),
      'malformed_response',
      `refresh: the answer is not a sealed token set or opt-out, but an HTML page: ${BASE_URL} leads to another service, or a login page, a proxy or a captive portal responds in its place`,
    ],
    [
      'plain JSON',
      answersPlain(200, success(2)),
      'malformed_response',
      `refresh: the answer is not a sealed token set or opt-out, but plain JSON: ${BASE_URL} leads to another service, or to a test double`,
    ],
    [
      'nothing',
      answersPlain(200),
      'malformed_response',
      'refresh: the answer is not a sealed token set or opt-out, but empty',
    ],
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
      'The service refused the refresh token permanently; a new set is needed.',
    ],
  ])('names %s', async (_, service, code, message) => {
    expect(await refreshed(service)).toMatchObject({ code, message });
  });

  const noFailure = ', which is not a network failure: see the console';
  test.each<[string, () => unknown, string]>([
    [
      'a mistake in its code',
      () => (undefined as unknown as () => void)(),
      `; the fetch of this page threw TypeError${noFailure}`,
    ],
    [
      'a name that is not there',
      () => {
        throw new ReferenceError('tracker is not defined');
      },
      `; the fetch of this page threw ReferenceError${noFailure}`,
    ],
    [
      'an exception of its own',
      () => Promise.reject(new RangeError('jane')),
      `; the fetch of this page threw RangeError${noFailure}`,
    ],
    [
      'its own time limit',
      () => Promise.reject(new DOMException('', 'TimeoutError')),
      `; the fetch of this page threw TimeoutError${noFailure}`,
    ],
    ['nothing at all', () => undefined, '; the fetch of this page resolved with undefined, expected a Response'],
    ['the JSON', () => success(2), '; the fetch of this page resolved with object, expected a Response'],
  ])('names %s if the page has its own fetch', async (_, answer, reason) => {
    at(`${BASE_URL}/page`);
    expect(await refreshed(answer as never)).toMatchObject({ code: 'network', message: request + reason });
    const thrown = reason.endsWith('console') ? [expect.anything()] : [];
    expect(warn.mock.calls).toEqual([[`[tessera] ${request}${reason} (${DOCS}#network)`, ...thrown]]);
  });

  test.each(['Failed to fetch', 'Load failed', 'NetworkError when attempting to fetch resource.', 'fetch failed'])(
    'a browser’s “%s” is the network',
    async (text) => {
      at(`${BASE_URL}/page`);
      const message = `${request}; the service cannot be reached`;
      expect(await refreshed(() => Promise.reject(new TypeError(text)))).toMatchObject({ message });
    },
  );

  test('a request that the session aborts is not blamed on the page', async () => {
    fixture.serve(
      ({ init }) =>
        new Promise((_, reject) => {
          init.signal?.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
        }),
    );
    const { session } = fixture.openStored();
    await session.ready;
    const call = session.refresh().catch(({ code }) => code);
    await fixture.advance(MINUTE);
    expect(await call).toBe('timeout');
    expect(warn.mock.calls).toEqual([[`[tessera] refresh: no result within 10000 ms (${DOCS}#timeout)`]]);
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

  test('names a pause that the service has asked for even if the store fails meanwhile', async () => {
    fixture.serve(answersPlain(503, '', { 'retry-after': '60' }));
    const { session, store } = fixture.openStored();
    await session.ready;
    await session.refresh().catch(() => {});
    store.read = store.update = () => Promise.reject(new DOMException('', 'UnknownError'));
    await expect(session.refresh()).rejects.toMatchObject({
      code: 'network',
      message: 'refresh: too early to ask the service again; see state.next',
    });
    expect(session.state.lastError).toMatchObject({ code: 'storage_failed' });
  });
});

describe('the Content-Security-Policy of the page', () => {
  const violation = (blockedURI: string, effectiveDirective = 'connect-src') =>
    document.dispatchEvent(
      Object.assign(new Event('securitypolicyviolation', { bubbles: true }), { blockedURI, effectiveDirective }),
    );

  test('is watched even if an element is named addEventListener', () => {
    Object.defineProperty(document, 'addEventListener', { value: document.createElement('img'), configurable: true });
    onTestFinished(() => void Reflect.deleteProperty(document, 'addEventListener'));
    expect(fixture.open().session.state.phase).toBe('empty');
  });

  test('that blocks the operator is named in the console and in the error', async () => {
    const baseUrl = 'https://blocked.example';
    fixture.serve(async () => {
      violation(`${baseUrl}/v2/token/refresh`);
      throw new TypeError('Failed to fetch');
    });
    const { session } = fixture.open({ baseUrl, tokens: success(1) });
    await session.ready;
    const message = `refresh: no answer to POST ${baseUrl}/v2/token/refresh; this page's Content Security Policy blocks it: add ${baseUrl} to connect-src`;
    await expect(session.refresh()).rejects.toMatchObject({ code: 'network', message });
    violation(`${baseUrl}/v2/token/refresh`);
    expect(warn.mock.calls).toEqual([
      [
        `[tessera] this page's Content Security Policy blocks the operator: add ${baseUrl} to connect-src (${DOCS}#network)`,
      ],
      [`[tessera] ${message} (${DOCS}#network)`],
    ]);
  });

  test('that blocks something else is not reported; after close() nothing is', () => {
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
      '[tessera] createSession: a session named "twice" is already open on this page: use that one, close() it, or choose another name';
    expect(warn.mock.calls).toEqual([[text]]);
    one.close();
    one.close();
    two.close();
    open('twice').close();
    expect(warn).toHaveBeenCalledOnce();
  });
});

describe('a session on a server', () => {
  const open = (options: Partial<SessionOptions> = {}) =>
    createSession({ baseUrl: BASE_URL, fetch: fixture.fetch, ...options }).close();

  test('is named in the console, but not in a worker of a page, nor in a test that gives a store', () => {
    vi.stubGlobal('window', undefined);
    open({ store: memoryStore() });
    vi.stubGlobal('importScripts', () => {});
    open();
    expect(warn).not.toHaveBeenCalled();
    Reflect.deleteProperty(globalThis, 'importScripts');
    open();
    const text =
      '[tessera] createSession: expected a browser, got a server, where all visitors would share the session (https://github.com/tessera-id/tessera/blob/main/docs/session.md#on-a-server)';
    expect(warn.mock.calls).toEqual([[text]]);
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

  test('prints each failure of a run once, though only the first is emitted', async () => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    fixture.serve(answersPlain(503));
    const { session, events } = fixture.open({ debug: true, tokens: success(1) });
    await session.ready;
    await fixture.advance(25 * MINUTE);
    const printed = log.mock.calls.map(([, what]) => what).filter((what) => what instanceof TokenError);
    expect(fixture.sent.length).toBeGreaterThan(2);
    expect(printed).toHaveLength(fixture.sent.length);
    expect(new Set(printed).size).toBe(printed.length);
    expect(events.filter(([event]) => event === 'error')).toHaveLength(1);
    expect(session.state.lastError).toBe(printed.at(-1));
    session.close();
  });

  test('prints the first decision too, and none twice in a row', async () => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    const { session } = fixture.open({ debug: true, consent: () => new Promise(() => {}) });
    await session.ready;
    await fixture.advance(MINUTE);
    expect(log.mock.calls).toEqual([['tessera', { action: 'refresh', reason: 'consent' }]]);
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
