/**
 * `tessera-id/react-native` around pages with real sessions, and a real operator: the storage, the network and the app's functions. In
 * place of react-native-webview there is what it does with messages. `contract.test.ts` has the rules.
 */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { connectWebview, type WebviewLink } from '../../src/page/webview.ts';
import {
  createTesseraHost,
  secureStorage,
  type TesseraHost,
  type TesseraHostOptions,
  type TesseraView,
  type TokenRequest,
} from '../../src/react-native/index.ts';
import { memoryStore, type Store, type TokenAnswer } from '../../src/session/index.ts';
import { restoreGlobals } from '../session/fixtures.ts';
import { MINUTE, until, useFakeClock } from '../support/clock.ts';
import { createOperatorFixture } from '../support/fixtures.ts';
import { leaveHost, postHere } from '../support/native.ts';
import { throwing } from '../support/throwing.ts';

const ORIGIN = 'https://www.publisher.example';

let fixture: ReturnType<typeof createOperatorFixture>;
let stored: string | null;
let app: TesseraHost;
let log: string[];
let links: WebviewLink[];

const works = { read: async () => stored, write: async (text: string) => void (stored = text) };

const start = async (more: Partial<TesseraHostOptions> = {}) => {
  await app?.close();
  const { baseUrl } = fixture;
  app = createTesseraHost({ baseUrl, origins: [ORIGIN], storage: works, onLog: (line) => log.push(line), ...more });
  await fixture.settle();
};

const viewOf = (origin: string, post: (text: string) => void = postHere): TesseraView => ({
  injectJavaScript: (script) => new Function('window', 'location', script)({ postMessage: post }, { origin }),
});

const open = async (store: Store = memoryStore()) => {
  for (const link of links.splice(0)) link.disconnect();
  const view = viewOf(ORIGIN);
  const postMessage = (data: string) => app.onMessage({ nativeEvent: { data, url: `${ORIGIN}/article` } }, view);
  Object.assign(window, { ReactNativeWebView: { postMessage } });
  const { session } = fixture.open({ refresh: 'off', store });
  const link = connectWebview(session, { owner: 'host' });
  links.push(link);
  await link.ready;
  return { session, view };
};

beforeEach(() => {
  useFakeClock();
  fixture = createOperatorFixture();
  vi.stubGlobal('fetch', fixture.fetch);
  [stored, log, links] = [null, [], []];
});
afterEach(async () => {
  await app.close();
  for (const link of links) link.disconnect();
  fixture.close();
  vi.unstubAllGlobals();
  await restoreGlobals();
  leaveHost();
});

const answerFor = (name: string) => fixture.answerFor(`${name}@example.com`) as Promise<TokenAnswer>;
const tokenOf = (answer: unknown) => (answer as { body: { advertising_token: string } }).body.advertising_token;
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'done',
    (error) => error.code,
  );
const agreed = (session: { readonly advertisingToken: string | undefined }, ...not: unknown[]) =>
  until(
    () =>
      app.advertisingToken && !not.includes(app.advertisingToken) && app.advertisingToken === session.advertisingToken,
  );

describe('with a page', () => {
  test('the page adopts what the app has stored, refreshes and signs in, and a logout on either side reaches the other', async () => {
    await start();
    await app.signedIn(await answerFor('user'));
    await start();
    const { session } = await open();
    await agreed(session);
    const before = app.advertisingToken;
    await fixture.advance(16 * MINUTE);
    await agreed(session, before);
    expect(fixture.requests).toEqual(['/v2/token/refresh']);
    await app.signedOut();
    await until(() => session.state.phase === 'empty');
    await app.signedIn(await answerFor('other'));
    await agreed(session);
    await session.clear();
    await until(() => !app.advertisingToken);
    await until(() => stored?.includes('"signedOut"'));
  });

  test.each(['app', 'page'] as const)(
    'a page that has the user of another page from their storage keeps that user, and logs out the app too, owner %s',
    async (owner) => {
      await start({ owner });
      const store = memoryStore();
      const openBeside = async (channel: string) => {
        const port = {
          postMessage: (data: string) => app.onMessage({ nativeEvent: { data, url: `${ORIGIN}/` } }, view),
          onmessage: (_: { data: string }) => {},
        };
        const view = viewOf(ORIGIN, (data) => port.onmessage({ data }));
        vi.stubGlobal(channel, port);
        const { session } = fixture.open({
          name: 'shared',
          store,
          ...(owner === 'app' && { refresh: 'off' as const }),
        });
        const link = connectWebview(session, { channel, owner: owner === 'app' ? 'host' : 'page' });
        links.push(link);
        await link.ready;
        return { session, link, view };
      };
      const [first, second] = [await openBeside('one'), await openBeside('two')];
      const answer = await answerFor('user');
      await first.session.setTokens(answer);
      await fixture.settle();
      expect([app.advertisingToken, second.session.advertisingToken]).toEqual([tokenOf(answer), tokenOf(answer)]);
      expect(log.filter((line) => line === 'app: req hello, gen 1')).toHaveLength(1);
      first.link.disconnect();
      app.detach(first.view);
      await second.session.clear();
      await until(() => stored?.includes('"signedOut"'));
    },
  );

  test('a storage that cannot be read at one start does not log the page out, and the next start has the set', async () => {
    const store = memoryStore();
    await start();
    await app.signedIn(await answerFor('user'));
    await agreed((await open(store)).session);
    const before = stored;
    for (const read of [() => Promise.reject(new Error('locked')), () => new Promise<never>(() => {})]) {
      await start({ storage: { ...works, read } });
      const { session } = await open(store);
      await fixture.advance(20_000);
      expect([session.state.phase, stored]).toEqual(['fresh', before]);
    }
    await start();
    await agreed((await open(store)).session);
  });

  test('a site to which the webview has been navigated receives nothing', async () => {
    await start();
    const { view } = await open();
    await app.optedOut();
    const post = vi.fn();
    view.injectJavaScript = viewOf('https://other.example', post).injectJavaScript;
    await app.signedIn(await answerFor('user'));
    expect(log).toContain('app: evt set, gen 2');
    expect(post).not.toHaveBeenCalled();
  });

  test('messages of other origins are ignored, and so are those of a view that is detached until it is attached', async () => {
    await start();
    const post = vi.fn();
    const view = viewOf(ORIGIN, post);
    const data = JSON.stringify({ v: 1, ns: 'tessera', kind: 'req', type: 'hello', id: '1', gen: 0 });
    const say = (url: string) => app.onMessage({ nativeEvent: { data, url } }, view);
    const others = [
      `${ORIGIN}.other.example/`,
      `${ORIGIN}@other.example/`,
      'https://other.example/',
      '',
      null,
      undefined,
    ];
    for (const url of others) say(url as string);
    app.detach(view);
    say(`${ORIGIN}/`);
    expect(post).not.toHaveBeenCalled();
    app.attach(view);
    app.attach(view);
    say(`${ORIGIN}/`);
    expect(post).toHaveBeenCalledTimes(1);
  });
});

describe('the app', () => {
  test('a logout that the storage refuses rejects, and so does one that is not confirmed within 10 s', async () => {
    let write: (text: string) => Promise<unknown> = works.write;
    await start({ storage: { ...works, write: (text) => write(text) } });
    await app.signedIn(await answerFor('user'));
    write = throwing(new Error('full'));
    expect(await codeOf(app.signedOut())).toBe('storage_failed');
    let end = () => {};
    write = () => new Promise<void>((resolve) => (end = resolve));
    const logout = codeOf(app.signedOut());
    await fixture.advance(10_000);
    expect(await logout).toBe('storage_failed');
    end();
    // Nobody waits for it: no unhandled rejection fails this file.
    write = () => Promise.reject(new Error('full'));
    void app.signedOut();
  });

  test.each([0, 10_000])(
    'close ends when a write that has run for %i ms has ended, and calls after it reject',
    async (ms) => {
      let end = () => {};
      const storage = { ...works, write: () => new Promise<void>((resolve) => (end = resolve)) };
      await start({ storage });
      const logout = codeOf(app.signedOut());
      await fixture.advance(ms);
      let isClosed = false;
      const closing = app.close().then(() => (isClosed = true));
      await fixture.settle();
      expect(isClosed).toBe(false);
      // It could replace what the next host writes.
      expect(() => createTesseraHost({ baseUrl: fixture.baseUrl, origins: [ORIGIN], storage })).toThrow('another host');
      end();
      await closing;
      expect(await logout).toBe(ms ? 'storage_failed' : 'done');
      expect(await codeOf(app.signedOut())).toBe('closed');
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  test("another user's answer changes nothing, and the answer of the user in force is used", async () => {
    stored = JSON.stringify({ gen: 3, user: 'signedIn', told: { token: 'x', expiresAt: 1 } });
    const requests: TokenRequest[] = [];
    await start({ onNeedsTokens: (request) => requests.push(request) });
    const [anna, bert] = [await answerFor('anna'), await answerFor('bert')];
    await app.signedIn(bert);
    expect([await requests[0]!.renew(anna), app.advertisingToken]).toEqual([false, tokenOf(bert)]);
    stored = JSON.stringify({ gen: 3, user: 'signedIn' });
    await start({ onNeedsTokens: (request) => requests.push(request) });
    expect([await requests[1]!.renew(anna), app.advertisingToken]).toEqual([true, tokenOf(anna)]);
  });

  test('functions of the app that throw or reject are reported, and a logout reaches the page', async () => {
    const fail = throwing(new RangeError('of the app'));
    await start({ onToken: fail, onNeedsTokens: () => Promise.reject(new RangeError('of the app')) });
    const { session } = await open();
    await app.signedIn(await answerFor('user'));
    await agreed(session);
    await app.signedOut();
    await until(() => session.state.phase === 'empty');
    await session.setTokens(await answerFor('other'));
    await until(() => log.includes('onNeedsTokens: RangeError'));
    expect(log).toContain('onToken: RangeError');
    await start({ onLog: fail });
    await app.signedOut();
  });

  test('what is no answer rejects and changes nothing', async () => {
    await start();
    const first = await answerFor('user');
    await app.signedIn(first);
    for (const wrong of [undefined, null, '{}', {}, { status: 'error' }, { status: 'success', body: {} }])
      expect(await codeOf(app.signedIn(wrong as never))).toBe('invalid_token_set');
    expect(app.advertisingToken).toBe(tokenOf(first));
  });

  test('a second host over one storage is an error until the first is closed', async () => {
    const options = { baseUrl: fixture.baseUrl, origins: [ORIGIN] };
    const named = () => ({ ...works, name: 'one' });
    await start({ storage: named() });
    expect(() => createTesseraHost({ ...options, storage: named() })).toThrow('storage: another host has it');
    await start({ storage: named() });
  });

  test.each([
    [['HTTPS://WWW.Publisher.example:443/'], undefined],
    [['https://a.example:8443', 'http://localhost:80', 'capacitor://localhost', 'https://[::1]'], undefined],
    [['*'], '"*"'],
    [['www.publisher.example'], '"www.publisher.example"'],
    [['https://a.example/path'], '"https://a.example/path"'],
    [['https://*.example'], '"https://*.example"'],
    [['https://a@b.example'], '"https://a@b.example"'],
    [['https://a.example:99999'], '"https://a.example:99999"'],
    [['http://a.example'], '"http://a.example"'],
    [['null'], '"null"'],
    [['file:///index.html'], '"file:///index.html"'],
    [[], 'at least one'],
  ])('origins %j: %j', async (origins, fault) => {
    await start();
    await app.close();
    const make = () => createTesseraHost({ baseUrl: fixture.baseUrl, storage: works, origins });
    if (fault) expect(make).toThrow(fault);
    else app = make();
  });

  test.each([
    'http://operator.example',
    'operator.example',
    '',
    undefined,
    'https://operator.example/?a=1',
    'https://a@b.example',
  ])('baseUrl %j is refused, before anything has begun', async (baseUrl) => {
    await start();
    expect(() => createTesseraHost({ baseUrl: baseUrl as string, origins: [ORIGIN], storage: { ...works } })).toThrow(
      'baseUrl: expected an absolute https URL',
    );
  });

  test('an origin is compared as a browser writes it', async () => {
    await start({ origins: ['HTTPS://WWW.Publisher.example:443/'] });
    const { session } = await open();
    await app.signedIn(await answerFor('user'));
    await agreed(session);
  });
});

test('secureStorage tells what is absent from what cannot be read, and stays on the device', async () => {
  const asked: unknown[] = [];
  const store = {
    AFTER_FIRST_UNLOCK_THIS_DEVICE_ONLY: 3,
    getItemAsync: async (key: string, options?: object) => {
      asked.push([key, options]);
      return null;
    },
    setItemAsync: async (key: string, value: string, options?: object) => void asked.push([key, value, options]),
  };
  const storage = secureStorage(store);
  expect(await storage.read()).toBeNull();
  await storage.write('text');
  const options = { keychainAccessible: 3 };
  expect(asked).toEqual([
    ['tessera', options],
    ['tessera', 'text', options],
  ]);
  const locked = { ...store, getItemAsync: () => Promise.reject(new Error('locked')) };
  await expect(secureStorage(locked).read()).rejects.toThrow('locked');
  expect(() => secureStorage(store, 'a b')).toThrow('key: expected');
  await start();
});
