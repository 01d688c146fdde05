/** The messages of a session, by value: what failed, what was expected, what came, the remedy. And what it warns of. */

import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createSession, memoryStore, type Session, type SessionOptions } from '../../src/session/index.ts';
import { TokenError } from '../../src/token/errors.ts';
import { loaded, MINUTE } from '../support/clock.ts';
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
beforeEach(() => void (warn = vi.spyOn(console, 'warn').mockImplementation(() => {})));
afterEach(() => vi.unstubAllGlobals());

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
  const loginPage = async () => {
    const page = new Response('<html>', { headers: { 'content-type': 'text/html; charset=utf-8' } });
    const url = 'https://www.example/login?next=jane';
    return Object.defineProperties(page, { redirected: { value: true }, url: { value: url } });
  };
  const raise = (thrown: unknown) => {
    throw thrown;
  };
  const bug = 'a bug in provide, or in what it calls: see the console';
  const cors = 'tokenHandler rejects pages on other origins, unless its origins option lists them';
  const busy = 'see the onError callback of tokenHandler or the log of the server';
  const login = 'if it is a login page, let the route answer 204 when nobody is signed in';
  const FAILURES: Record<string, () => unknown> = {
    'provide rejected with RangeError; see the console': () => raise(new RangeError('jane')),
    'provide rejected with String': () => Promise.reject('jane'),
    'provide rejected with undefined': () => Promise.reject(),
    'provide rejected with SyntaxError; the response may not be JSON: check response.ok before response.json()': () =>
      new Response('<html>').json(),
    'provide rejected with TypeError; if fetch threw it, the network failed, or CORS or CSP blocks the request': () =>
      Promise.reject(new TypeError('Failed to fetch')),
    [`provide rejected with TypeError; ${bug}`]: () => (undefined as unknown as () => void)(),
    [`provide rejected with ReferenceError; ${bug}`]: () => raise(new ReferenceError('tracker is not defined')),
    [`provide: /login answered 200 with an HTML page after a redirect to /login; ${login}`]: loginPage,
    [`provide rejected with HTTPError (status 503); ${busy}`]: () => Promise.reject(new HTTPError()),
    'provide rejected with Error (status 404); the server has no route there': () =>
      Promise.reject(Object.assign(new Error(), { status: 404 })),
    'provide: /token answered 404; the server has no route there': async () => answered(404),
    [`provide: /token answered 403; ${cors}`]: async () => answered(403),
    [`provide: /token answered 500; ${busy}`]: async () => answered(500),
    'provide rejected with Response (status 404); the server has no route there': () => Promise.reject(answered(404)),
    'provide: the server answered 401': async () => answered(401, ''),
  };
  test.each(Object.entries(FAILURES))('%s', async (message, provide) => {
    const error = await failureOf({ provide: provide as never });
    expect(error).toMatchObject({ code: 'provide_failed', message });
    const [, status] = /(?:answered|status) (\d+)/.exec(message) ?? [];
    expect(error.status).toBe(status && Number(status));
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

  test('that is undefined says what to return instead', async () => {
    const message = 'provide: returned undefined: return the set, or null if nobody is signed in';
    const error = await failureOf({ provide: (async () => undefined) as never });
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
  const { session } = await loaded(fixture.open(options));
  await act(session);
  expect(warn.mock.calls).toContainEqual([`[tessera] ${LABEL}`]);
  session.close();
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

test('the JSON of `state` has code and status of the last failure, its stack the message', async () => {
  const { session } = fixture.open({ provide: async () => new Response('', { status: 404 }) as never });
  await session.getToken().catch(() => {});
  expect(JSON.parse(JSON.stringify(session.state)).lastError).toEqual({
    name: 'TokenError',
    code: 'provide_failed',
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
  const failed =
    'token set: expected object, got the body of a failed request: check response.ok before response.json(); tokenHandler answers 405 to anything but POST';
  const inside = 'token set: expected object, got an object with the set in tokens: pass that member';
  const unread = 'token set: expected object, got a Response: use await response.json()';
  const unparsed = 'token set: expected object, got a string: use JSON.parse, or response.json() for response.text()';
  test.each<[what: string, given: unknown, fault: string]>([
    ['a Response', Response.json(success(1)), unread],
    ['a JSON string', JSON.stringify(success(1)), unparsed],
    ['a failure of tokenHandler', { status: 'error' }, failed],
    ['an object with the set', { tokens: success(1).body }, inside],
    ['a result of the server client', { status: 'success', tokens }, ofClient],
    ['the tokens of a result', tokens, ofClient],
    ['the tokens of a result as the body', { status: 'success', body: tokens }, ofClient],
    ['a body that is a Promise', { status: 'success', body: Promise.resolve(success(1).body) }, promised],
    ['a body that is a Promise, beside an HTTP status', { status: 200, body: Promise.resolve(success(1)) }, promised],
  ])('%s', async (_, given, fault) => {
    const { session } = fixture.open();
    const code = 'invalid_token_set';
    const errorOf = (way: string) => ({ code, message: `${way}: ${fault}` });
    await expect(session.setTokens(given as never)).rejects.toMatchObject(errorOf('setTokens'));
    expect(await failureOf({ provide: async () => given as never })).toMatchObject(errorOf('provide'));
    const { session: rendered } = fixture.open({ tokens: given as never });
    await fixture.settle();
    expect(rendered.state.lastError).toMatchObject(errorOf('tokens'));
    const warnings = ['setTokens', 'provide', 'tokens'].map((way) => [`[tessera] ${way}: ${fault} (${DOCS}#${code})`]);
    expect(warn.mock.calls).toEqual(warnings);
  });
});

describe('a failure of a refresh', () => {
  const request = `refresh: no answer to POST ${BASE_URL}/v2/token/refresh`;
  const refreshed = async (service: Service) => {
    fixture.serve(service);
    const { session } = await loaded(fixture.openStored());
    return (await session.refresh().catch((error) => error)) as TokenError;
  };
  const at = (url: string) => vi.stubGlobal('location', new URL(url));

  const local = 'such as a file (CORS): serve the page from http://localhost';
  const REASONS: Record<string, () => unknown> = {
    "; the service cannot be reached, or it does not permit pages on https://www.example (CORS), or this page's Content Security Policy blocks it: see the console":
      () => at('https://www.example/page'),
    '; the service cannot be reached': () => at(`${BASE_URL}/page`),
    '; this device is offline': () => vi.spyOn(navigator, 'onLine', 'get').mockReturnValue(false),
    [`; the service cannot be reached, or it does not permit a page without an origin, ${local}`]: () =>
      at('file:///home/page.html'),
  };
  test.each(Object.entries(REASONS))('names request and reason: %s', async (reason, prepare) => {
    prepare();
    expect(await refreshed(offline)).toMatchObject({ code: 'network', message: request + reason });
  });

  test('on a server names the request', async () => {
    vi.stubGlobal('location', undefined);
    expect(await refreshed(offline)).toMatchObject({ message: `${request}; the service cannot be reached` });
  });

  test('on an https page whose operator is on http, the error mentions mixed content', async () => {
    at('https://www.example/page');
    fixture.serve(offline);
    const baseUrl = 'http://operator.example';
    const { session } = await loaded(fixture.open({ baseUrl, allowInsecure: true, tokens: success(1) }));
    const reason = '; browsers block requests from an https page to http (mixed content)';
    await expect(session.refresh()).rejects.toThrow(`refresh: no answer to POST ${baseUrl}/v2/token/refresh${reason}`);
  });

  const unopened = 'the answer is not a sealed token set or opt-out';
  const portal = 'a login page, a proxy or a captive portal responds in its place';
  const ended = 'The service refused the refresh token permanently; a new set is needed.';
  const html = '\n<!doctype html><title>Sign in</title>';
  test.each<[message: string, code: string, Service]>([
    ['POST /v2/token/refresh answered 503', 'http_status', answersPlain(503)],
    [
      `POST /v2/token/refresh answered 404; there is no operator at ${BASE_URL}: baseUrl has a wrong path, or leads to another service`,
      'http_status',
      answersPlain(404, '<html>'),
    ],
    [
      `POST /v2/token/refresh answered 403; a proxy or a firewall in front of ${BASE_URL} rejects the request`,
      'http_status',
      answersPlain(403, '<html>'),
    ],
    [
      `${unopened}, but an HTML page: ${BASE_URL} leads to another service, or ${portal}`,
      'malformed_response',
      answersPlain(200, html),
    ],
    [
      `${unopened}, but plain JSON: ${BASE_URL} leads to another service, or to a test double`,
      'malformed_response',
      answersPlain(200, success(2)),
    ],
    [`${unopened}, but empty`, 'malformed_response', answersPlain(200)],
    [unopened, 'malformed_response', answersPlain(200, 'x')],
    [
      'the answer does not open under the key of the set sent',
      'decrypt_failed',
      () => answersSealed(success(2))({ n: 9 } as never),
    ],
  ])('says: %s', async (message, code, service) => {
    expect(await refreshed(service)).toMatchObject({ code, message: `refresh: ${message}` });
  });

  test('names the end of the set', async () => {
    const service = answersPlain(400, { status: 'expired_token' });
    expect(await refreshed(service)).toMatchObject({ code: 'refresh_rejected', message: ended });
  });

  const noFailure = ', which is not a network failure: see the console';
  const OWN_FETCH: Record<string, () => unknown> = {
    [`threw TypeError${noFailure}`]: () => (undefined as unknown as () => void)(),
    [`threw RangeError${noFailure}`]: () => Promise.reject(new RangeError('jane')),
    [`threw TimeoutError${noFailure}`]: () => Promise.reject(new DOMException('', 'TimeoutError')),
    'resolved with undefined, expected a Response': () => undefined,
    'resolved with object, expected a Response': () => success(2),
  };
  test.each(Object.entries(OWN_FETCH))('says that the fetch of this page %s', async (what, answer) => {
    at(`${BASE_URL}/page`);
    const message = `${request}; the fetch of this page ${what}`;
    expect(await refreshed(answer as never)).toMatchObject({ code: 'network', message });
    const thrown = what.endsWith('console') ? [expect.anything()] : [];
    expect(warn.mock.calls).toEqual([[`[tessera] ${message} (${DOCS}#network)`, ...thrown]]);
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
    const { session } = await loaded(fixture.openStored());
    const call = session.refresh().catch(({ code }) => code);
    await fixture.advance(MINUTE);
    expect(await call).toBe('timeout');
    expect(warn.mock.calls).toEqual([[`[tessera] refresh: no result within 60000 ms (${DOCS}#timeout)`]]);
  });

  test('names a pause that the service has asked for', async () => {
    fixture.serve(answersPlain(503, '', { 'retry-after': '60' }));
    const { session, store } = await loaded(fixture.openStored());
    await session.refresh().catch(() => {});
    const other = await loaded(fixture.open({ store }));
    await expect(other.session.refresh()).rejects.toMatchObject({
      code: 'network',
      message: expect.stringContaining('it is too early to ask the service again; see state.next'),
    });
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
    const { session } = await loaded(fixture.open({ baseUrl, tokens: success(1) }));
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
      '[tessera] createSession: expected a browser, got a server, where all visitors would share the session (https://github.com/tessera-id/tessera/blob/main/docs/pages/session.md#on-a-server)';
    expect(warn.mock.calls).toEqual([[text]]);
  });
});

describe('debug: true', () => {
  test('prints every change of state.next, and no token', async () => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    const { session } = await loaded(fixture.open({ debug: true, tokens: success(1) }));
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
    const { session, events } = await loaded(fixture.open({ debug: true, tokens: success(1) }));
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
    const { session } = await loaded(fixture.open({ debug: true, consent: () => new Promise(() => {}) }));
    await fixture.advance(MINUTE);
    expect(log.mock.calls).toEqual([['tessera', { action: 'refresh', reason: 'consent' }]]);
    session.close();
  });

  test('leaves the log to a logger that is given', async () => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    const logger = { debug: vi.fn() };
    await loaded(fixture.open({ debug: true, logger }));
    expect(log).not.toHaveBeenCalled();
    expect(logger.debug).toHaveBeenCalled();
  });
});
