/**
 * The file of hosts/react-native/ around a page with a real session, and a real operator. In place of react-native-webview, there is
 * what it does with messages: the page's `ReactNativeWebView`, and `injectJavaScript`, which runs a script in the page.
 */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  createTesseraHost,
  type TesseraHost,
  type TesseraHostOptions,
  type TesseraView,
} from '../../hosts/react-native/tessera-host.ts';
import { connectWebview, type WebviewLink } from '../../src/page/webview.ts';
import { isTokenError, type Store } from '../../src/session/index.ts';
import { restoreGlobals } from '../session/fixtures.ts';
import { DAY, HOUR, MINUTE, until, useFakeClock } from '../support/clock.ts';
import { createOperatorFixture } from '../support/fixtures.ts';
import { leaveHost, postHere } from '../support/native.ts';

const ORIGIN = 'https://www.publisher.example';

/** `URL` as in React Native. */
class IncompleteUrl extends URL {
  override get origin(): never {
    throw new Error('URL.origin is not implemented');
  }
}

let fixture: ReturnType<typeof createOperatorFixture>;
let stored: string | null;
let app: TesseraHost;
let told: (string | undefined)[];
let needs: number;
let log: string[];
let links: WebviewLink[];

/** Start the app, with what it has stored. */
const start = async (more: Partial<TesseraHostOptions> = {}) => {
  app?.pause();
  app = await createTesseraHost({
    baseUrl: fixture.baseUrl,
    origins: [ORIGIN],
    storage: {
      read: async () => stored,
      write: async (text) => {
        stored = text;
      },
    },
    onToken: (token) => told.push(token),
    onNeedsTokens: () => needs++,
    onLog: (line) => log.push(line),
    ...more,
  });
};

/** The `<WebView>`, with the page of an origin. */
const viewOf = (origin: string, post: (text: string) => void = postHere): TesseraView => ({
  injectJavaScript: (script) => new Function('window', 'location', script)({ postMessage: post }, { origin }),
});

/** Open a page in a webview of the app. */
const open = async (owner: 'app' | 'page' = 'app', storage?: Store) => {
  const view = viewOf(ORIGIN);
  const postMessage = (data: string) => app.onMessage({ nativeEvent: { data, url: `${ORIGIN}/article` } }, view);
  Object.assign(window, { ReactNativeWebView: { postMessage } });
  const { session, store } = fixture.open({
    refresh: owner === 'app' ? 'off' : 'auto',
    ...(storage && { store: storage }),
  });
  const link = connectWebview(session, { owner: owner === 'app' ? 'host' : 'page' });
  links.push(link);
  expect(await link.ready).toBe(true);
  return { session, link, view, store };
};

beforeEach(() => {
  useFakeClock();
  fixture = createOperatorFixture();
  vi.stubGlobal('fetch', fixture.fetch);
  [stored, told, needs, log, links] = [null, [], 0, [], []];
});
afterEach(async () => {
  app.pause();
  for (const link of links) link.disconnect();
  fixture.close();
  vi.unstubAllGlobals();
  await restoreGlobals();
  leaveHost();
});

const answerFor = (name: string) => fixture.answerFor(`${name}@example.com`);
const tokenOf = (answer: unknown) => (answer as { body: { advertising_token: string } }).body.advertising_token;
const agreed = (session: { readonly advertisingToken: string | undefined }, ...not: unknown[]) =>
  until(() => {
    const { advertisingToken } = app;
    return advertisingToken && !not.includes(advertisingToken) && advertisingToken === session.advertisingToken;
  });

describe('the app owns the identity', () => {
  test('the page adopts what the app stores, refreshes and signs in; a logout on either side reaches the other', async () => {
    await start();
    const [first, other] = [await answerFor('user'), await answerFor('other')];
    app.signedIn(first);
    const { session } = await open();
    await agreed(session);
    for (const count of [1, 2]) {
      const before = session.advertisingToken;
      await fixture.advance(16 * MINUTE);
      await agreed(session, before);
      expect(fixture.requests).toHaveLength(count);
    }
    app.signedIn(other);
    await until(() => session.advertisingToken === tokenOf(other));
    app.signedOut();
    await until(() => session.state.phase === 'empty');
    app.renewed(other); // requested before the logout
    expect(app.advertisingToken).toBeUndefined();
    app.signedIn(first);
    await agreed(session);
    await session.clear();
    await until(() => !app.advertisingToken);
    expect(JSON.parse(stored!)).toEqual({ gen: 5, user: 'signedOut' });
  });

  test('a refresh carries neither cookies nor the address of the page, and follows no redirect', async () => {
    const sent: (RequestInit | undefined)[] = [];
    vi.stubGlobal('fetch', (input: RequestInfo | URL, init?: RequestInit) => {
      sent.push(init);
      return fixture.fetch(input, init);
    });
    await start();
    app.signedIn(await answerFor('user'));
    await fixture.advance(16 * MINUTE);
    await until(() => sent.length > 0);
    expect(sent[0]).toMatchObject({ credentials: 'omit', redirect: 'error', referrerPolicy: 'no-referrer' });
  });

  test('in the background nothing is sent; afterwards the page has a valid token', async () => {
    await start();
    app.signedIn(await answerFor('user'));
    const { session } = await open();
    await agreed(session);
    const first = app.advertisingToken;
    app.pause();
    await fixture.advance(2 * HOUR);
    expect([app.advertisingToken, session.advertisingToken, fixture.requests]).toEqual([undefined, undefined, []]);
    app.resume();
    await agreed(session, first);
    expect(fixture.requests).toHaveLength(1);
  });

  test('a sign-in in the page ends the set of the app, which asks for one of the new user', async () => {
    await start();
    const [first, other, renewed] = [await answerFor('user'), await answerFor('other'), await answerFor('other')];
    app.signedIn(first);
    const { session } = await open();
    await agreed(session);
    await session.setTokens(other);
    await until(() => app.advertisingToken === tokenOf(other));
    expect([needs, JSON.parse(stored!).set]).toEqual([1, undefined]);
    app.renewed(renewed);
    await agreed(session, tokenOf(other));
  });

  test('until the app has a set of the user who has signed in in the page, pages keep theirs, also after a restart', async () => {
    await start();
    const { session, link, store } = await open();
    const [first, renewed] = [await answerFor('user'), await answerFor('user')];
    await session.setTokens(first);
    await until(() => needs);
    link.disconnect();
    session.close();
    await start();
    const { session: again } = await open('app', store);
    await fixture.advance(10_000);
    expect([app.advertisingToken, again.advertisingToken, needs]).toEqual([tokenOf(first), tokenOf(first), 2]);
    expect(log).toContain('page: req get, gen 1');
    app.renewed(renewed);
    await until(() => again.advertisingToken === tokenOf(renewed));
  });

  test('an app that has lost its storage knows of no user: the page that connects is logged out', async () => {
    await start();
    app.signedIn(await answerFor('user'));
    const { session, link, store } = await open();
    await agreed(session);
    link.disconnect();
    session.close();
    stored = null;
    told = [];
    await start();
    const { session: again } = await open('app', store);
    await until(() => again.state.phase === 'empty');
    expect([app.advertisingToken, told]).toEqual([undefined, []]);
  });

  test('a refresh does not follow a redirect, which would send the refresh token elsewhere', async () => {
    await start();
    const modes: string[] = [];
    fixture.network((request, go) => {
      modes.push(request.redirect);
      return go();
    });
    app.signedIn(await answerFor('user'));
    await fixture.advance(16 * MINUTE);
    expect(modes).toEqual(['error']);
  });

  test('an opt-out at the service ends the identity in app and page, also after a restart', async () => {
    await start();
    app.signedIn(await answerFor('refresh-optout'));
    const { session } = await open();
    await agreed(session);
    await fixture.advance(16 * MINUTE);
    await until(() => session.state.phase === 'optedOut');
    expect(app.advertisingToken).toBeUndefined();
    await fixture.settle();
    await start();
    const { session: other } = await open();
    await until(() => other.state.phase === 'optedOut');
  });

  test.each([
    ['accepts the user', 'user', 'fresh'],
    ['refuses the user', 'refresh-optout', 'optedOut'],
  ])('a page that already knows of an opt-out gets the set only after the service %s', async (_, name, phase) => {
    await start();
    app.signedIn(await answerFor(name));
    const { session, link } = await open();
    await agreed(session);
    // The page is on its own when it learns of the opt-out.
    link.disconnect();
    await session.setTokens({ status: 'optout' });
    links.push(connectWebview(session, { owner: 'host' }));
    await fixture.advance(1000);
    expect(fixture.requests).toHaveLength(1);
    expect([session.state.phase, !!app.advertisingToken]).toEqual([phase, phase === 'fresh']);
    expect(log.lastIndexOf('app: evt set, gen 1')).toBeGreaterThan(
      phase === 'fresh' ? log.indexOf('refresh: success') : -2,
    );
  });

  test('an app that restarts has its set; an older one, past its expiry, is refreshed', async () => {
    await start();
    app.signedIn(await answerFor('user'));
    await fixture.settle();
    const backup = stored;
    const first = app.advertisingToken;
    await start();
    expect(app.advertisingToken).toBe(first);
    await fixture.advance(61 * MINUTE);
    const second = app.advertisingToken;
    stored = backup;
    await start();
    const { session } = await open();
    await fixture.advance(1000);
    await agreed(session, first, second);
  });

  test('a service that fails is asked again after a pause, or when the network is back', async () => {
    await start();
    app.signedIn(await answerFor('user'));
    const first = app.advertisingToken;
    fixture.network(async () => new Response(null, { status: 503 }));
    await fixture.advance(18 * MINUTE);
    const failures = log.filter((line) => line === 'refresh: failed: HTTP 503').length;
    expect(failures).toBeGreaterThan(3);
    expect(failures).toBeLessThan(7);
    fixture.network(() => Promise.reject(new TypeError('no network')));
    app.resume();
    await until(() => log.includes('refresh: failed: TypeError'));
    fixture.network();
    app.resume();
    await until(() => app.advertisingToken !== first);
  });

  test('a pause that the service asks for is kept, also when the network is back', async () => {
    await start();
    app.signedIn(await answerFor('user'));
    fixture.network(async () => new Response(null, { status: 429, headers: { 'retry-after': '600' } }));
    await fixture.advance(15 * MINUTE + 1000);
    app.resume();
    await fixture.advance(9 * MINUTE);
    expect(fixture.requests).toHaveLength(1);
    fixture.network();
    await fixture.advance(2 * MINUTE);
    expect(fixture.requests).toHaveLength(2);
  });

  test('a set that the service refuses is not sent again: the app is asked for another, and again when it returns', async () => {
    await start();
    app.signedIn(await answerFor('user'));
    app.pause();
    vi.setSystemTime(Date.now() + 2 * DAY);
    app.resume();
    await until(() => needs);
    await fixture.advance(HOUR);
    expect(needs).toBe(1);
    app.resume();
    await fixture.advance(HOUR);
    expect([fixture.requests.length, needs, app.advertisingToken]).toEqual([1, 2, undefined]);
  });

  test('sets that are nearly due on arrival are refreshed halfway to their expiry', async () => {
    fixture.close();
    fixture = createOperatorFixture({ refreshFrom: 1, identityExpires: 600 });
    vi.stubGlobal('fetch', fixture.fetch);
    await start();
    app.signedIn(await answerFor('user'));
    await fixture.advance(2000);
    expect(fixture.requests).toHaveLength(1);
    await fixture.advance(4 * MINUTE);
    expect(fixture.requests).toHaveLength(1);
    await fixture.advance(2 * MINUTE);
    expect(fixture.requests).toHaveLength(2);
  });

  test('a clock that is ahead does not make the app refresh without end', async () => {
    await start();
    const answer = await answerFor('user');
    fixture.network(async (_, go) => {
      const { body, headers } = await go();
      return new Response(body, {
        headers: { ...Object.fromEntries(headers), date: new Date(Date.now() - DAY).toUTCString() },
      });
    });
    const body = (answer as { body: Record<string, unknown> }).body;
    const early = Object.fromEntries(
      Object.entries(body).map(([name, value]) => [name, typeof value === 'number' ? value - DAY : value]),
    );
    app.signedIn(early);
    await fixture.advance(10 * MINUTE);
    expect(fixture.requests).toHaveLength(1);
  });

  test('an answer that is none is an error and changes nothing', async () => {
    await start();
    const first = await answerFor('user');
    app.signedIn(first);
    for (const wrong of [undefined, null, '{}', {}, { status: 'error' }, { status: 'success', body: {} }]) {
      const code = (() => {
        try {
          return app.renewed(wrong);
        } catch (error) {
          return isTokenError(error) && error.code;
        }
      })();
      expect(code).toBe('invalid_token_set');
    }
    expect(app.advertisingToken).toBe(tokenOf(first));
  });

  test('storage that fails or contains no state counts as empty, and the app works', async () => {
    for (const text of ['', 'no json', 'null', '[]', '{"user":"nobody"}', '{"user":"signedIn","set":{}}']) {
      stored = text;
      await start();
      expect(app.advertisingToken).toBeUndefined();
    }
    const fail = () => Promise.reject(new Error('locked'));
    await start({ storage: { read: fail, write: fail } });
    const first = await answerFor('user');
    app.signedIn(first);
    expect(app.advertisingToken).toBe(tokenOf(first));
    await until(() => log.filter((line) => line === 'storage: Error').length === 2);
  });

  test('a site to which the webview has been navigated receives nothing', async () => {
    await start();
    const { view } = await open();
    const post = vi.fn();
    view.injectJavaScript = viewOf('https://other.example', post).injectJavaScript;
    app.signedIn(await answerFor('user'));
    await fixture.advance(16 * MINUTE);
    expect(fixture.requests).toHaveLength(1);
    expect(post).not.toHaveBeenCalled();
  });

  test('messages of other senders are ignored, and the log contains no token and no key', async () => {
    await start();
    const first = (await answerFor('user')) as { body: object };
    app.signedIn(first);
    vi.stubGlobal('URL', IncompleteUrl);
    const post = vi.fn();
    const view = viewOf(ORIGIN, post);
    const say = (data: string, url = `${ORIGIN}/article`) => app.onMessage({ nativeEvent: { data, url } }, view);
    const hello = JSON.stringify({ v: 1, ns: 'tessera', kind: 'req', type: 'hello', id: '1', gen: 0 });
    for (const data of ['text', '{', 'null', '7', '"text"', '[]', '{"ns":"other"}']) say(data);
    for (const url of [`${ORIGIN}.other.example/`, `${ORIGIN}@other.example/`, 'https://other.example/', ''])
      say(hello, url);
    expect(post).not.toHaveBeenCalled();
    say(hello.replace('"v":1', '"v":2'));
    say(hello);
    const sent = post.mock.calls.map(([text]) => JSON.parse(text));
    expect(sent).toMatchObject([
      { kind: 'res', id: '1', error: 'version' },
      { kind: 'res', id: '1', gen: 1, body: null },
    ]);
    say(hello.replace('hello', 'get'));
    for (const value of Object.values(first.body)) expect(log.join('\n')).not.toContain(`${value}`);
    app.detach(view);
    post.mockClear();
    app.signedOut();
    expect(post).not.toHaveBeenCalled();
  });
});

describe('the page owns the identity', () => {
  test('the app has each token, and never a refresh token', async () => {
    await start({ owner: 'page' });
    const { session } = await open('page');
    await session.setTokens(await answerFor('user'));
    await agreed(session);
    const first = app.advertisingToken;
    await fixture.advance(16 * MINUTE);
    await agreed(session, first);
    expect(stored).not.toMatch(/refresh/);
    await session.setTokens({ status: 'optout' });
    await until(() => !app.advertisingToken);
    expect(JSON.parse(stored!).user).toBe('optedOut');
  });

  test('a page that has lost its storage gets the set that the app signed in with, once, and refreshes it', async () => {
    await start({ owner: 'page' });
    const { session, link } = await open('page');
    app.signedIn(await answerFor('user'));
    await agreed(session);
    const first = app.advertisingToken;
    link.disconnect();
    session.close();
    await fixture.advance(2 * HOUR);
    const { session: other } = await open('page');
    await agreed(other, first);
    expect(log.filter((line) => line === 'app: evt set, gen 1')).toHaveLength(2);
  });
});
