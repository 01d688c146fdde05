/** The script tag's file, run in a page: the queue, the attributes, the events on `window`. */

import { readFileSync } from 'node:fs';
import { runInThisContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, type MockInstance, onTestFinished, test, vi } from 'vitest';
import type { Tessera } from '../../src/page/global.ts';
import { BASE_URL, createFixture, restoreGlobals, rotate, success, wireSet } from '../session/fixtures.ts';
import { HOUR, until, useFakeClock } from '../support/clock.ts';
import { throwing } from '../support/throwing.ts';

const EVENTS = ['tessera:token', 'tessera:expired', 'tessera:optout', 'tessera:needstokens'];
const { settle, advance } = createFixture();
let round = 0;
let name = '';
const listening = new Map<string, (event: Event) => void>();
/** Events on `window`, as every script on the page receives them. */
let events: [event: string, detail: unknown][] = [];

beforeEach(() => {
  useFakeClock();
  name = `script-${round++}`;
  events = [];
  // happy-dom has none, browsers do.
  vi.stubGlobal('reportError', () => {});
  for (const event of EVENTS) {
    const listener = (dispatched: Event) => void events.push([event, (dispatched as CustomEvent).detail]);
    listening.set(event, listener);
    window.addEventListener(event, listener);
  }
});
afterEach(async () => {
  session()?.close();
  delete window.tessera;
  for (const [event, listener] of listening) window.removeEventListener(event, listener);
  Reflect.deleteProperty(document, 'currentScript');
  document.body.replaceChildren();
  await restoreGlobals();
});

const load = async (attributes: Record<string, string> = {}) => {
  const tag = document.createElement('script');
  tag.src = 'https://page.example/tessera.js';
  for (const [attribute, value] of Object.entries(attributes)) tag.setAttribute(attribute, value);
  // In browsers it has the members of `Object.prototype`, and empty attributes are own members; in happy-dom neither.
  const dataset = Object.entries(attributes).map(([attribute, value]) => [
    attribute.replace(/^data-/, '').replace(/-./g, (letter) => letter[1]!.toUpperCase()),
    value,
  ]);
  Object.defineProperty(tag, 'dataset', { value: Object.fromEntries(dataset) });
  return run(tag);
};
/** Run the file while the platform names `tag` as the running script. */
const run = async (tag: Element | null) => {
  Object.defineProperty(Object.getPrototypeOf(document), 'currentScript', { configurable: true, value: tag });
  vi.resetModules();
  await import('../../src/page/script/script.ts');
  Object.defineProperty(Object.getPrototypeOf(document), 'currentScript', { configurable: true, value: null });
  return window.tessera as Tessera;
};
const session = () => (window.tessera as Tessera | undefined)?.session;
const network = (answer: (url: string, init: RequestInit) => Response | Promise<Response>) => {
  const calls: [url: string, init: RequestInit][] = [];
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    calls.push([url, init]);
    return answer(url, init);
  });
  return calls;
};

describe('the global', () => {
  test('has version, createSession, isTokenError and push, and no session until one exists', async () => {
    const tessera = await load();
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(tessera.version).toBe(version);
    expect(tessera.session).toBeUndefined();
    const error = await tessera
      .createSession({ baseUrl: BASE_URL, name })
      .setTokens({} as never)
      .catch((thrown) => thrown);
    expect(tessera.isTokenError(error)).toBe(true);
    expect(tessera.isTokenError(new Error('x'))).toBe(false);
  });

  test('holds the first session that the page creates, and no later one', async () => {
    const tessera = await load();
    const first = tessera.createSession({ baseUrl: BASE_URL, name });
    const second = tessera.createSession({ baseUrl: BASE_URL, name: `${name}-second` });
    expect(tessera.session).toBe(first);
    second.close();
  });

  test('a second copy of the file changes nothing', async () => {
    const first = await load({ 'data-base-url': BASE_URL, 'data-name': name });
    const { session: firstSession } = first;
    const called = vi.fn();
    await load({ 'data-base-url': 'https://other.example', 'data-name': `${name}-other` });
    expect(window.tessera).toBe(first);
    expect(session()).toBe(firstSession);
    first.push(called);
    expect(called).toHaveBeenCalledExactlyOnceWith(first);
  });
});

test('the script that docs/pages/frameworks.md gives for tag managers adds the file and creates one session, however often it runs', async () => {
  const calls = network(() => Response.json(success(8)));
  const [, code] = /## Tag managers.*?<script>(.*?)<\/script>/s.exec(readFileSync('docs/pages/frameworks.md', 'utf8'))!;
  const added: string[] = [];
  vi.spyOn(document.head, 'append').mockImplementation((node) => void added.push((node as HTMLScriptElement).src));
  // As a script of the page, whose names are those of the page.
  const runTag = () => runInThisContext(code!.replaceAll('https://operator.example', BASE_URL));
  runTag();
  const { session } = await load();
  runTag();
  expect(await session!.getToken()).toBe('advertising-8');
  expect(window.tessera!.session).toBe(session);
  expect([calls.length, added.length]).toEqual([1, 2]);
  expect(added[0]).toMatch(/\/tessera.js$/);
});

test.each(['data-consent', 'data-refresh', 'data-users'])(
  '%s, which has no effect, prevents a session, and the queued calls run',
  async (attribute) => {
    const called = vi.fn();
    window.tessera = [called];
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    const attributes = { 'data-base-url': BASE_URL, 'data-name': name, [attribute]: 'off' };
    await expect(load(attributes)).rejects.toThrow(new TypeError(`${attribute}: invalid option`));
    expect(session()).toBeUndefined();
    expect(called).toHaveBeenCalledOnce();
  },
);

test('data-consent of another tool has no effect on a tag without data-base-url', async () => {
  await expect(load({ 'data-consent': 'marketing' })).resolves.toBeDefined();
});

describe('DOM clobbering', () => {
  test('an element named currentScript does not supply attributes', async () => {
    const image = document.createElement('img');
    Object.assign(image, { name: 'currentScript' });
    image.dataset['baseUrl'] = 'https://other.example';
    Object.defineProperty(document, 'currentScript', { configurable: true, value: image });
    const tessera = await load();
    expect(tessera.session).toBeUndefined();
  });

  test('a running script that is not an HTML script element supplies no attributes', async () => {
    const image = document.createElement('img');
    image.dataset['baseUrl'] = 'https://other.example';
    const tessera = await run(image);
    expect(tessera.session).toBeUndefined();
  });

  test.each([
    ['an element', () => document.createElement('div')],
    ['a collection of elements', () => document.getElementsByTagName('div')],
  ])('%s in the place of the global is replaced', async (_, create) => {
    window.tessera = create() as never;
    const tessera = await load({ 'data-base-url': BASE_URL, 'data-name': name });
    expect(tessera.session?.state.phase).toBe('empty');
  });
});

test('members that a link has put on Object.prototype do not count as attributes of the tag', async () => {
  Object.assign(Object.prototype, { baseUrl: 'https://other.example' });
  onTestFinished(() => void Reflect.deleteProperty(Object.prototype, 'baseUrl'));
  expect((await load()).session).toBeUndefined();
  delete window.tessera;
  expect((await run(null)).session).toBeUndefined();
});

describe('the queue', () => {
  test('calls that are queued before the file has loaded are made in order, with the global and its session', async () => {
    const order: unknown[] = [];
    window.tessera = [(t) => order.push(['first', t.session?.state.phase]), (t) => order.push(['second', t.version])];
    const tessera = await load({ 'data-base-url': BASE_URL, 'data-name': name });
    expect(order).toEqual([
      ['first', 'empty'],
      ['second', tessera.version],
    ]);
    expect(tessera).not.toBeInstanceOf(Array);
  });

  test.each(['before the file has loaded', 'after the token is known'])(
    'the snippet of docs/pages/script-tag.md bids if it runs %s',
    async (when) => {
      const [, snippet] = /<script>\n(.*?)<\/script>/s.exec(readFileSync('docs/pages/script-tag.md', 'utf8'))!;
      const bid = vi.fn();
      vi.stubGlobal('bid', bid);
      network(() => Response.json(success(1)));
      const isLate = when.startsWith('after');
      if (!isLate) new Function(snippet!)();
      const tessera = await load({ 'data-base-url': BASE_URL, 'data-name': name, 'data-provide': '/token' });
      await tessera.session!.getToken();
      await settle();
      if (isLate) new Function(snippet!)();
      await settle();
      expect(bid).toHaveBeenLastCalledWith('advertising-1');
    },
  );

  test('calls that throw or reject do not stop the others, and are reported as errors of the page', async () => {
    const reported: unknown[] = [];
    vi.stubGlobal('reportError', (error: unknown) => reported.push(error));
    const thrown = new Error('thrown');
    const rejected = new Error('rejected');
    const made = vi.fn();
    window.tessera = [throwing(thrown), () => Promise.reject(rejected), made];
    const tessera = await load();
    tessera.push(throwing(thrown), made);
    await settle();
    expect(made).toHaveBeenCalledTimes(2);
    expect(reported).toEqual([thrown, rejected, thrown]);
  });

  test('works in a browser that has no reportError', async () => {
    vi.unstubAllGlobals();
    expect('reportError' in globalThis).toBe(false);
    const made = vi.fn();
    window.tessera = [made, made];
    const tessera = await load();
    tessera.push(made);
    expect(made).toHaveBeenCalledTimes(3);
  });
});

describe('a session by attributes', () => {
  test('data-base-url and data-name create a session', async () => {
    const open = vi.spyOn(indexedDB, 'open');
    const tessera = await load({ 'data-base-url': `${BASE_URL}/`, 'data-name': name });
    await tessera.session?.ready;
    expect(open.mock.calls[0]?.[0]).toBe(name);
    await tessera.session?.setTokens(success(1));
    const calls = network((_, init) => rotate({ n: 1, url: '', at: 0, init }));
    await tessera.session?.refresh();
    expect(calls[0]?.[0]).toBe(`${BASE_URL}/v2/token/refresh`);
    expect(tessera.session?.advertisingToken).toBe('advertising-2');
  });

  test('data-user of another user ends the former set, and data-provide is asked', async () => {
    const calls = network(() => Response.json(success(8)));
    const first = await load({ 'data-base-url': BASE_URL, 'data-name': name, 'data-user': 'account-a' });
    await first.session!.setTokens(wireSet(1), { user: 'account-a' });
    first.session!.close();
    delete window.tessera;
    const attributes = { 'data-base-url': BASE_URL, 'data-name': name, 'data-provide': '/token' };
    const { session } = await load({ ...attributes, 'data-user': 'account-b' });
    await until(() => session!.advertisingToken !== undefined);
    expect(session!.advertisingToken).toBe('advertising-8');
    expect(calls).toHaveLength(1);
  });

  test('an empty data-user says that nobody is signed in: a set with a label is ended', async () => {
    const first = await load({ 'data-base-url': BASE_URL, 'data-name': name, 'data-user': 'account-a' });
    await first.session!.setTokens(wireSet(1), { user: 'account-a' });
    first.session!.close();
    delete window.tessera;
    const { session } = await load({ 'data-base-url': BASE_URL, 'data-name': name, 'data-user': '' });
    await session!.ready;
    expect(session!.advertisingToken).toBeUndefined();
  });

  test('the tag of a later page in the same document ends the former user’s set at once if its data-user is another', async () => {
    const calls = network(() => Response.json(success(8)));
    const attributes = { 'data-base-url': BASE_URL, 'data-name': name, 'data-provide': '/token' };
    const { session } = await load({ ...attributes, 'data-user': 'account-a' });
    await session!.setTokens(wireSet(1), { user: 'account-a' });
    calls.length = 0;
    await load({ ...attributes, 'data-user': 'account-a' });
    expect(session!.advertisingToken).toBe('advertising-1');
    const tessera = await load({ ...attributes, 'data-user': 'account-b' });
    expect(session!.advertisingToken).toBeUndefined();
    await until(() => session!.advertisingToken === 'advertising-8');
    await load({ ...attributes, 'data-user': 'account-b' });
    expect(session!.advertisingToken).toBe('advertising-8');
    expect(calls).toHaveLength(1);
    await load({ ...attributes, 'data-user': '' });
    expect(session!.advertisingToken).toBeUndefined();
    expect(tessera.session).toBe(session);
  });

  test('the tag of a later page in the same document counts after sign-in and logout in code', async () => {
    const calls = network(() => Response.json(success(8)));
    const attributes = { 'data-base-url': BASE_URL, 'data-name': name, 'data-provide': '/token' };
    const { session } = await load({ ...attributes, 'data-user': '' });
    await session!.signIn({ user: 'account-b' });
    // The user of the session already: nothing is ended or asked.
    await load({ ...attributes, 'data-user': 'account-b' });
    await settle();
    expect(session!.advertisingToken).toBe('advertising-8');
    const before = calls.length;
    await load({ ...attributes, 'data-user': 'account-a' });
    expect(session!.advertisingToken).toBeUndefined();
    await until(() => session!.advertisingToken);
    await session!.clear();
    await load({ ...attributes, 'data-user': 'account-a' });
    await until(() => session!.advertisingToken);
    expect(calls.length).toBe(before + 2);
  });

  test('data-provide is fetched by POST, same-origin, without a body or a custom header', async () => {
    const calls = network(() => new Response(JSON.stringify(success(1)), { status: 200 }));
    const tessera = await load({ 'data-base-url': BASE_URL, 'data-name': name, 'data-provide': '/token' });
    expect(await tessera.session?.getToken()).toBe('advertising-1');
    expect(calls).toEqual([
      [`${location.origin}/token`, { method: 'POST', credentials: 'same-origin', signal: expect.any(AbortSignal) }],
    ]);
  });

  test('a 204 means that nobody is signed in: no token, no error, one request', async () => {
    const calls = network(() => new Response(null, { status: 204 }));
    const tessera = await load({ 'data-base-url': BASE_URL, 'data-name': name, 'data-provide': '/token' });
    await expect(tessera.session?.getToken()).rejects.toMatchObject({ code: 'no_token' });
    await advance(HOUR);
    expect(calls).toHaveLength(1);
    expect(tessera.session?.state.lastError).toBeUndefined();
    expect(events.map(([event]) => event)).toEqual(['tessera:needstokens']);
  });

  test.each<[string, string, () => Response | Promise<Response>]>([
    [
      'a refusal with a valid body',
      'provide: POST /token answered 403; tokenHandler rejects pages on other origins, unless its origins option lists them',
      () => new Response(JSON.stringify(success(1)), { status: 403 }),
    ],
    [
      'a login page',
      'provide: POST /token answered 200 with an HTML page; if it is a login page, let the route answer 204 when nobody is signed in',
      () => new Response('<html>', { headers: { 'content-type': 'text/html' } }),
    ],
    [
      'no answer',
      'provide: POST /token got no answer: the network failed, the server is down, or CORS or CSP blocks the request',
      () => Promise.reject(new TypeError('Failed to fetch')),
    ],
  ])('%s is an error of the session, not of the page, and the console says so', async (_, message, answer) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    network(answer);
    const attributes = { 'data-base-url': BASE_URL, 'data-name': name, 'data-provide': '/token?user=somebody' };
    const tessera = await load(attributes);
    await expect(tessera.session?.getToken()).rejects.toMatchObject({
      name: 'TokenError',
      code: 'provide_failed',
      message,
    });
    await settle();
    expect(events.map(([event]) => event)).toEqual(['tessera:needstokens']);
    const link = 'https://github.com/tessera-id/tessera/blob/main/docs/errors.md#provide_failed';
    expect(warn.mock.calls).toEqual([[`[tessera] ${message} (${link})`]]);
  });

  test.each([
    ['', true],
    ['true', true],
    ['false', false],
    [undefined, false],
  ])('data-debug=%j prints each decision: %s', async (value, isPrinted) => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    await load({ 'data-base-url': BASE_URL, 'data-name': name, ...(value !== undefined && { 'data-debug': value }) });
    await settle();
    const line = ['tessera', { action: 'setTokens', reason: 'host' }];
    if (isPrinted) expect(log.mock.calls).toContainEqual(line);
    else expect(log).not.toHaveBeenCalled();
  });
});

describe('the development build warns about a tag', () => {
  const SITE = { 'data-base-url': BASE_URL };
  const none =
    'there is no session after 10 s: add data-base-url, or push a function that calls createSession; a tag manager may have removed the attributes';
  let warn: MockInstance<typeof console.warn>;
  beforeEach(() => {
    warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    network(() => new Response(null, { status: 204 }));
  });
  const said = () => warn.mock.calls.map(([text]) => text);

  test.each<[string, Record<string, string>, string[]]>([
    ['that is right', { ...SITE, 'data-provide': '/token', 'data-user': 'a', 'data-debug': 'false' }, []],
    [
      'with attributes of other tools',
      {
        ...SITE,
        'data-cfasync': 'false',
        'data-nscript': 'x',
        'data-turbo-track': 'y',
        'data-cookieconsent': 'marketing',
        'data-cmp-vendor': 's1',
        'data-v-7a7a37b1': '',
        'data-no-optimize': '1',
        'data-testid': 'tag',
        'data-src': '/tessera.js',
      },
      [],
    ],
    [
      'with attributes that are a part of ours, or more',
      { ...SITE, 'data-url': 'x', 'data-user-id': 'a', 'data-provide-url': '/token', 'data-debugging': '' },
      [
        'data-url is unknown; did you mean data-base-url?',
        'data-user-id is unknown; did you mean data-user?',
        'data-provide-url is unknown; did you mean data-provide?',
        'data-debugging is unknown; did you mean data-debug?',
      ],
    ],
    [
      'with options that have no attribute',
      { ...SITE, 'data-timeout-ms': '5', 'data-allowinsecure': '' },
      ['timeout-ms', 'allowinsecure'].map(
        (name) =>
          `data-${name} is unknown: this option has no attribute; leave out data-base-url and pass it to tessera.createSession`,
      ),
    ],
    [
      'with any other attribute',
      { ...SITE, 'data-endpoint': 'x', 'data-site': '7' },
      ['endpoint', 'site'].map(
        (name) =>
          `data-${name} is unknown, expected one of data-base-url, data-name, data-user, data-provide, data-debug`,
      ),
    ],
    ['without attributes', {}, [none]],
    ['with data-debug alone', { 'data-debug': '' }, ['data-debug has no effect without data-base-url']],
    ['without data-base-url', { 'data-provide': '/token' }, ['data-provide has no effect without data-base-url']],
    [
      'with an empty data-base-url',
      { 'data-base-url': '', 'data-provide': '/token' },
      ['data-base-url is empty, so there is no session: expected the https URL of the operator'],
    ],
  ])('%s', async (_, attributes, expected) => {
    await load({ ...attributes, ...('data-base-url' in attributes && { 'data-name': name }) });
    await advance(10_000);
    expect(said()).toEqual(expected.map((text) => `[tessera] script tag: ${text}`));
  });

  test('that loads the file a second time', async () => {
    await load({ 'data-base-url': BASE_URL, 'data-name': name });
    await load({ 'data-base-url': 'https://other.example', 'data-usr': 'a' });
    expect(said()).toEqual([
      '[tessera] script tag: Tessera has already been loaded on this page: calls go to the first file, and the attributes of this tag, except data-user, are ignored; remove one of the tags',
    ]);
  });

  test('for another page in the same document, with its data-user', async () => {
    const attributes = { 'data-base-url': BASE_URL, 'data-name': name };
    await load({ ...attributes, 'data-user': 'account-a' });
    await load({ ...attributes, 'data-user': 'account-b' });
    expect(warn).not.toHaveBeenCalled();
  });

  test('nothing, if a pushed function creates a session after it has waited for 9 s', async () => {
    const tessera = await load();
    await advance(9_000);
    expect(warn).not.toHaveBeenCalled();
    tessera.createSession({ baseUrl: BASE_URL, name, provide: async () => null });
    await advance(9_000);
    expect(warn).not.toHaveBeenCalled();
  });

  test('with a pushed object', async () => {
    vi.stubGlobal('reportError', () => {});
    const { push } = await load({ ...SITE, 'data-name': name, 'data-provide': '/token' });
    push({ baseUrl: BASE_URL } as never);
    await settle();
    expect(said()).toEqual(['[tessera] script tag: push: expected function, got object: push((tessera) => ...)']);
  });

  const unsupplied =
    'there is no token set, and no option provide (data-provide): if a user is signed in, add it, or call setTokens';
  const withoutApp =
    "there is no token set, and with refresh: 'off' only an app around this page supplies one: if a user is signed in there, call connectWebview; without an app, leave the option out";
  const unanswered =
    'the consent gate has not answered for 12 s: until it does (its dialog may be open), there is no token';
  test.each<[string, Record<string, string>, (tessera: Tessera) => unknown, said: [text: string, code: string][]]>([
    ['no token set and no data-provide', SITE, () => {}, [[unsupplied, 'no_token']]],
    ['no data-provide, but a call of setTokens', SITE, (t) => t.session!.setTokens(success(1)), []],
    ['data-provide, where nobody is signed in', { ...SITE, 'data-provide': '/token' }, () => {}, []],
    [
      'no tokens from an app',
      {},
      (t) => t.createSession({ baseUrl: BASE_URL, name, refresh: 'off' }),
      [[withoutApp, 'no_token']],
    ],
    [
      'a consent gate without an answer',
      {},
      (t) =>
        t.createSession({ baseUrl: BASE_URL, name, provide: async () => null, consent: () => new Promise(() => {}) }),
      [[unanswered, 'no_consent']],
    ],
    [
      'a gate that refuses',
      {},
      (t) => t.createSession({ baseUrl: BASE_URL, name, provide: async () => null, consent: async () => false }),
      [],
    ],
    ['a closed session', {}, (t) => t.createSession({ baseUrl: BASE_URL, name }).close(), []],
  ])('whose session waits for the page: %s', async (_, attributes, use, expected) => {
    use(await load({ ...attributes, ...('data-base-url' in attributes && { 'data-name': name }) }));
    await advance(9_000);
    expect(warn).not.toHaveBeenCalled();
    await advance(20_000);
    expect(warn.mock.calls).toEqual(
      expected.map(([text, code]) => [
        `[tessera] ${text} (https://github.com/tessera-id/tessera/blob/main/docs/errors.md#${code})`,
      ]),
    );
  });

  test('on a page whose global is no array', async () => {
    window.tessera = { cmd: [] } as never;
    await load({ ...SITE, 'data-name': name, 'data-provide': '/token' });
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      '[tessera] script tag: window.tessera: expected an array, got object; calls before this file: (window.tessera = window.tessera || []).push(...)',
    );
  });

  test('with a wrong data-base-url, whose pushed call needs the session', async () => {
    window.tessera = [(t) => t.session!.on('token', () => {})];
    await expect(load({ 'data-base-url': 'operator.example' })).rejects.toThrow('without a scheme');
    await settle();
    expect(said()).toEqual([
      '[tessera] script tag: a pushed function threw, and there is no tessera.session: the attributes of the tag are wrong, as another message says',
    ]);
  });

  test('without data-base-url whose pushed call needs the session', async () => {
    const reported: unknown[] = [];
    vi.stubGlobal('reportError', (error: unknown) => reported.push(error));
    window.tessera = [(t) => t.session!.on('token', () => {})];
    const tessera = await load();
    await settle();
    expect(reported).toEqual([expect.any(TypeError)]);
    const text =
      '[tessera] script tag: a pushed function threw, and there is no tessera.session: add data-base-url to the tag, or call createSession first';
    expect(warn.mock.calls).toEqual([[text]]);
    tessera.createSession({ baseUrl: BASE_URL, name });
    tessera.push(throwing(new RangeError('of the page')));
    await settle();
    expect(reported).toHaveLength(2);
    expect(warn.mock.calls).toEqual([[text]]);
  });

  test('in a micro frontend whose sandbox hides the tag', async () => {
    const refuse = throwing(new TypeError('Illegal invocation'));
    Object.defineProperty(Object.getPrototypeOf(document), 'currentScript', { configurable: true, get: refuse });
    const proxy = new Proxy(document, { get: (target, key) => key !== 'currentScript' && Reflect.get(target, key) });
    vi.stubGlobal('document', proxy);
    vi.resetModules();
    await import('../../src/page/script/script.ts');
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      '[tessera] script tag: a micro frontend runs this file in a sandbox that hides the tag, so its attributes are ignored: call tessera.createSession',
    );
  });

  test('with type="module"', async () => {
    document.body.innerHTML = '<script type="module" data-src="/tessera.dev.js"></script>';
    document.querySelector('script')!.setAttribute('src', 'data:text/javascript,tessera');
    await run(null);
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      '[tessera] script tag: type="module" hides the tag from the script, so its attributes are ignored: remove it',
    );
  });
});

describe('events on window', () => {
  test('carry only phase and times, and follow the change of the session', async () => {
    const tessera = await load();
    const own = tessera.createSession({
      baseUrl: BASE_URL,
      name,
      fetch: () => Promise.reject(new TypeError('offline')),
    });
    const { refresh_from: refreshAt, identity_expires: expiresAt, refresh_expires: endsAt } = wireSet(1);
    await until(() => events.length === 1);
    await own.setTokens(success(1));
    await until(() => events.length === 2);
    await advance(HOUR);
    await own.setTokens({ status: 'optout' });
    await until(() => events.length === 4);
    const times = { refreshAt, expiresAt, endsAt };
    const none = { refreshAt: undefined, expiresAt: undefined, endsAt: undefined };
    expect(events).toEqual([
      ['tessera:needstokens', { phase: 'empty', ...none }],
      ['tessera:token', { phase: 'fresh', ...times }],
      ['tessera:expired', { phase: 'stale', ...times }],
      ['tessera:optout', { phase: 'optedOut', ...none }],
    ]);
    expect(JSON.stringify(events)).not.toMatch(/advertising-|refresh-/);
  });

  test('come only from the first session', async () => {
    const tessera = await load();
    tessera.createSession({ baseUrl: BASE_URL, name });
    await until(() => events.length === 1);
    const second = tessera.createSession({ baseUrl: BASE_URL, name: `${name}-second` });
    await second.setTokens(success(1));
    await settle();
    expect(events.map(([event]) => event)).toEqual(['tessera:needstokens']);
    second.close();
  });

  test('a listener that throws affects neither the session nor other listeners', async () => {
    const onError = vi.fn((event: Event) => event.preventDefault());
    window.addEventListener('error', onError);
    const throws = throwing(new Error('of the page'));
    window.addEventListener('tessera:token', throws);
    const tessera = await load();
    const own = tessera.createSession({ baseUrl: BASE_URL, name });
    const after = vi.fn();
    own.on('token', after);
    await own.setTokens(success(1));
    await settle();
    window.removeEventListener('tessera:token', throws);
    window.removeEventListener('error', onError);
    expect(after).toHaveBeenCalledOnce();
    expect(own.advertisingToken).toBe('advertising-1');
  });
});
