/**
 * The Kotlin file of hosts/android/, compiled and run on a JVM, around a real page in Chromium: their messages travel as on Android,
 * and both ask a real operator. Operator, app and page read one clock, which the tests move.
 */

import type { BrowserContext, Page } from 'playwright-core';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { INSTALL_MS } from '../../build/packages.ts';
import { createOperator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { answerOf, createClient } from '../../src/server/index.ts';
import { missing, startAndroidApp, startJvm } from '../support/android.ts';
import { openProfile, serveSite } from '../support/browser.ts';
import { DAY, HOUR, MINUTE } from '../support/clock.ts';

beforeAll(() => (missing ? undefined : startJvm()), INSTALL_MS);

/** The parts of a set that are in the app's storage or a message. */
type Set = Record<string, unknown> & { readonly advertising_token: string };

const openWorld = async (owner: 'APP' | 'PAGE') => {
  let ahead = 0;
  const now = () => Date.now() + ahead;
  const operator = createOperator({ roles: ['GENERATOR', 'OPTOUT'], now, refreshFrom: 900, identityExpires: 3600 });
  /** Paths of requests without preflights, and what answers in the operator's place. */
  const asked: string[] = [];
  let fault: (() => Response | Promise<undefined>) | undefined;
  const service = await listen(
    {
      fetch: async (request) => {
        const { pathname } = new URL(request.url);
        if (request.method !== 'OPTIONS') asked.push(pathname);
        const { status, headers, body } =
          (pathname === '/v2/token/refresh' && (await fault?.())) || (await operator.fetch(request));
        const date = new Date(now()).toUTCString();
        return new Response(body, { status, headers: { ...Object.fromEntries(headers), date } });
      },
    },
    { port: 0, graceMs: 0 },
  );
  onTestFinished(service.close);
  const client = createClient({ baseUrl: service.url, ...operator.participants[0]!, now });
  const site = await serveSite({
    '/': () =>
      new Response(
        `<!doctype html><title>page</title><script src="/tessera.js"></script><script type="module">
          import { connectWebview } from '/page/webview.js';
          window.ahead = ${ahead};
          window.session = tessera.createSession({
            baseUrl: '${service.url}', refresh: '${owner === 'APP' ? 'off' : 'auto'}', now: () => Date.now() + ahead,
          });
          window.ready = connectWebview(session, { owner: '${owner === 'APP' ? 'host' : 'page'}' }).ready;
        </script>`,
        { headers: { 'content-type': 'text/html' } },
      ),
  });
  const { origin } = site;
  const app = await startAndroidApp({ baseUrl: service.url, origin, owner });
  const pages: Page[] = [];
  return {
    app,
    client,
    asked,
    /** How often the service was asked to refresh. */
    refreshes: () => asked.filter((path) => path === '/v2/token/refresh').length,
    answerFor: async (name: string) =>
      JSON.stringify(answerOf(await client.generate({ email: `${name}@example.com` }))),
    /** Let `next` answer refreshes; without it, the operator does. */
    service: (next?: typeof fault) => {
      fault = next;
    },
    /** Open a page in a new webview of the app. Default: one with empty storage. */
    open: async (profile?: BrowserContext) => {
      const page = await (profile ?? (await openProfile())).newPage();
      pages.push(page);
      await app.attach(page, `view-${pages.length}`);
      await page.goto(`${origin}/`);
      await page.waitForFunction('window.ready');
      expect(await page.evaluate('ready')).toBe(true);
      return page;
    },
    /** Restart the app, with other content of its storage if it is given; returns the profile of its first webview. */
    restart: async (stored?: string) => {
      if (stored) await app.call('store', stored);
      const profile = pages[0]!.context();
      for (const page of pages.splice(0)) await page.close();
      await app.restart();
      return profile;
    },
    /** Move the clock of all three. */
    advance: async (ms: number) => {
      ahead += ms;
      for (const page of pages)
        await page.evaluate(`ahead = ${ahead}; document.dispatchEvent(new Event('visibilitychange'))`);
      await app.call('ahead', { ms: ahead });
    },
  };
};
type World = Awaited<ReturnType<typeof openWorld>>;

const tokenIn = (page: Page) => page.evaluate('session.advertisingToken ?? null');
const phaseIn = (page: Page) => page.evaluate('session.state.phase');
const tokenOf = (answer: string) => (JSON.parse(answer) as { body: Set }).body.advertising_token;
const polled = <T>(read: () => Promise<T>) => expect.poll(read, { timeout: 20_000 });
/** Wait until app and page have one token, and it is not one of those given; returns it. */
const agreed = async ({ app }: World, page: Page, ...not: unknown[]): Promise<unknown> => {
  await polled(async () => {
    const token = await app.token();
    return token !== null && !not.includes(token) && token === (await tokenIn(page));
  }).toBe(true);
  return app.token();
};

describe.skipIf(missing)(`the Kotlin host${missing ? ` (missing: ${missing})` : ''}, the app owns the identity`, () => {
  test('a page adopts the set of a user who is signed in, and a later sign-in and logout of the app', async () => {
    const world = await openWorld('APP');
    const { app, answerFor } = world;
    const [first, other] = [await answerFor('user'), await answerFor('other')];
    await app.call('signedIn', first);
    const page = await world.open();
    expect(await agreed(world, page)).toBe(tokenOf(first));
    await app.call('signedIn', other);
    expect(await agreed(world, page, tokenOf(first))).toBe(tokenOf(other));
    await app.call('signedOut');
    await polled(() => phaseIn(page)).toBe('empty');
    await app.call('renewed', first); // requested before the logout
    expect(await app.token()).toBeNull();
    expect(app.events.map(({ event, value }) => [event, value])).toEqual([
      ['token', tokenOf(first)],
      ['token', tokenOf(other)],
      ['token', null],
    ]);
    expect(world.refreshes()).toBe(0);
  });

  test('the app refreshes whenever a refresh is due, each time with a new key, and the page adopts the token', async () => {
    const world = await openWorld('APP');
    await world.app.call('signedIn', await world.answerFor('user'));
    const page = await world.open();
    const seen = [await agreed(world, page)];
    for (const count of [1, 2, 3]) {
      await world.advance(16 * MINUTE);
      seen.push(await agreed(world, page, ...seen));
      expect(world.refreshes()).toBe(count);
    }
    expect(new Set(seen).size).toBe(4);
    expect(world.app.events).toHaveLength(4);
  });

  test('the token falls due and expires in the background: nothing is sent until the app returns, and the page never has it', async () => {
    const world = await openWorld('APP');
    const { app } = world;
    await app.call('signedIn', await world.answerFor('user'));
    const page = await world.open();
    const first = await agreed(world, page);
    await app.call('pause');
    await world.advance(2 * HOUR);
    await polled(() => tokenIn(page)).toBeNull();
    expect([await app.token(), world.refreshes()]).toEqual([null, 0]);
    await app.call('resume');
    await agreed(world, page, first);
    expect(world.refreshes()).toBe(1);
  });

  test('a logout in the page ends the identity in the app and in its other pages', async () => {
    const world = await openWorld('APP');
    await world.app.call('signedIn', await world.answerFor('user'));
    const [page, other] = [await world.open(), await world.open()];
    await agreed(world, page);
    await agreed(world, other);
    await page.evaluate('session.clear()');
    await polled(world.app.token).toBeNull();
    await polled(() => phaseIn(other)).toBe('empty');
    expect(await world.app.stored()).toEqual({ gen: 2, user: 'SIGNED_OUT' });
  });

  test('a sign-in in the page ends the set of the app, which asks for one of the new user', async () => {
    const world = await openWorld('APP');
    const { app } = world;
    const [first, other, renewed] = await Promise.all(['user', 'other', 'other'].map(world.answerFor));
    await app.call('signedIn', first!);
    const page = await world.open();
    await agreed(world, page);
    await page.evaluate(`session.setTokens(${other})`);
    // Until the app has a set, it uses the token that the page has told it.
    expect(await agreed(world, page, tokenOf(first!))).toBe(tokenOf(other!));
    const needs = () => app.events.filter(({ event }) => event === 'needsTokens').length;
    expect(needs()).toBe(1);
    expect(JSON.stringify(await app.stored())).not.toMatch(/refresh_token/);
    // Also if both are started again: the page asks for a set that the app does not have yet.
    const again = await world.open(await world.restart());
    await polled(async () => app.log.filter((line) => line.startsWith('page: req get')).length).toBeGreaterThan(2);
    expect([await agreed(world, again), needs()]).toEqual([tokenOf(other!), 2]);
    await app.call('renewed', renewed!);
    expect(await agreed(world, again, tokenOf(other!))).toBe(tokenOf(renewed!));
  });

  test('a message of a page that has not yet received a sign-in of the app changes nothing', async () => {
    const world = await openWorld('APP');
    const { app } = world;
    await app.call('signedIn', await world.answerFor('user'));
    const page = await world.open();
    const token = await agreed(world, page);
    await page.evaluate(`tesseraHost.postMessage(JSON.stringify(
      { v: 1, ns: 'tessera', kind: 'evt', type: 'changed', gen: 0, body: { phase: 'optedOut' } }))`);
    await polled(async () => app.log).toContain('page: evt changed, gen 0 optedOut');
    expect(await app.token()).toBe(token);
  });

  test('an opt-out at the service ends the identity in app and page, and is known after a restart', async () => {
    const world = await openWorld('APP');
    const { app } = world;
    await app.call('signedIn', await world.answerFor('user'));
    const page = await world.open();
    await agreed(world, page);
    await world.client.optOut({ email: 'user@example.com' });
    await world.advance(16 * MINUTE);
    await polled(() => phaseIn(page)).toBe('optedOut');
    expect(await app.token()).toBeNull();
    await world.restart();
    expect(await app.stored()).toMatchObject({ user: 'OPTED_OUT' });
    // A page with empty storage learns it from the app.
    const other = await world.open();
    await polled(() => phaseIn(other)).toBe('optedOut');
  });

  test.each([
    ['accepts the user', 'user', 'fresh'],
    ['refuses the user', 'refresh-optout', 'optedOut'],
  ])('a page that already knows of an opt-out gets the set only after the service %s', async (_, name, phase) => {
    const world = await openWorld('APP');
    const { app } = world;
    const page = await world.open();
    await page.evaluate(`session.setTokens({ status: 'optout' })`);
    await polled(async () => (await app.stored())?.user).toBe('OPTED_OUT');
    // As if the page had learned of it without the app.
    const set = JSON.parse(await world.answerFor(name)).body;
    const again = await world.open(await world.restart(JSON.stringify({ gen: 4, user: 'SIGNED_IN', set })));
    await polled(async () => app.log.find((line) => line.startsWith('refresh'))).toBeDefined();
    await polled(() => phaseIn(again)).toBe(phase);
    expect((await app.token()) !== null).toBe(phase === 'fresh');
    const sets = app.log.filter((line) => /^app: evt set|^refresh/.test(line));
    expect(sets[0]).toBe(phase === 'fresh' ? 'refresh: success' : 'refresh: optout');
  });

  test('an app that restarts has its set, and a page that has lost its storage gets it at once', async () => {
    const world = await openWorld('APP');
    const { app } = world;
    await app.call('signedIn', await world.answerFor('user'));
    const first = await agreed(world, await world.open());
    await world.restart();
    expect(await app.token()).toBe(first);
    const page = await world.open();
    expect(await agreed(world, page)).toBe(first);
    expect(world.refreshes()).toBe(0);
  });

  test('an app that restarts with an older set refreshes it: the page has a token again', async () => {
    const world = await openWorld('APP');
    const { app } = world;
    await app.call('signedIn', await world.answerFor('user'));
    const backup = (await app.call('stored')) as string;
    const page = await world.open();
    const first = await agreed(world, page);
    await world.advance(61 * MINUTE);
    const second = await agreed(world, page, first);
    await agreed(world, await world.open(await world.restart(backup)), first, second);
  });

  test('an app that has lost its storage knows of no user: the page that connects is logged out', async () => {
    const world = await openWorld('APP');
    await world.app.call('signedIn', await world.answerFor('user'));
    await agreed(world, await world.open());
    const profile = await world.restart('{}');
    const before = world.app.events.length;
    const page = await world.open(profile);
    await polled(() => phaseIn(page)).toBe('empty');
    expect([await world.app.token(), world.app.events.slice(before)]).toEqual([null, []]);
  });

  test('a page that is reloaded has the token again', async () => {
    const world = await openWorld('APP');
    await world.app.call('signedIn', await world.answerFor('user'));
    const page = await world.open();
    const token = await agreed(world, page);
    await page.reload();
    await page.waitForFunction('window.ready');
    expect(await agreed(world, page)).toBe(token);
  });

  test('a service that fails is asked again after a pause, or when the network is back', async () => {
    const world = await openWorld('APP');
    const { app } = world;
    await app.call('signedIn', await world.answerFor('user'));
    const page = await world.open();
    const first = await agreed(world, page);
    world.service(() => new Response(null, { status: 503 }));
    await world.advance(16 * MINUTE);
    await polled(async () => app.log.includes('refresh: failed: HTTP 503')).toBe(true);
    expect(await agreed(world, page)).toBe(first);
    world.service();
    await app.call('resume');
    await agreed(world, page, first);
    expect(world.refreshes()).toBe(2);
  });

  test('a refresh does not follow a redirect, which would send the refresh token elsewhere', async () => {
    const world = await openWorld('APP');
    const { app } = world;
    await app.call('signedIn', await world.answerFor('user'));
    const first = await app.token();
    world.service(() => new Response(null, { status: 302, headers: { location: '/elsewhere' } }));
    await world.advance(16 * MINUTE);
    await polled(async () => app.log.includes('refresh: failed: HTTP 302')).toBe(true);
    expect([world.asked.includes('/elsewhere'), await app.token()]).toEqual([false, first]);
  });

  test('a pause that the service asks for is kept, also when the network is back', async () => {
    const world = await openWorld('APP');
    const { app } = world;
    await app.call('signedIn', await world.answerFor('user'));
    world.service(() => new Response(null, { status: 429, headers: { 'retry-after': '600' } }));
    await world.advance(16 * MINUTE);
    await polled(async () => app.log.includes('refresh: failed: HTTP 429')).toBe(true);
    const first = await app.token();
    world.service();
    await app.call('resume');
    await world.advance(9 * MINUTE);
    expect([world.refreshes(), await app.token()]).toEqual([1, first]);
    await world.advance(2 * MINUTE);
    await polled(async () => (await app.token()) !== first).toBe(true);
  });

  test('a set that the service refuses is not sent again: the app is asked for another, and again when it returns', async () => {
    const world = await openWorld('APP');
    const { app } = world;
    await app.call('signedIn', await world.answerFor('user'));
    await app.call('pause');
    await world.advance(31 * DAY);
    await app.call('resume');
    await polled(async () => app.events.at(-1)?.event).toBe('needsTokens');
    await world.advance(HOUR);
    const before = app.events.length;
    await app.call('resume');
    await world.advance(HOUR);
    expect([world.refreshes(), await app.token(), app.events.slice(before)]).toEqual([
      1,
      null,
      [{ event: 'needsTokens' }],
    ]);
    const next = await world.answerFor('user');
    await app.call('renewed', next);
    expect(await app.token()).toBe(tokenOf(next));
  });

  test('a sign-in during a refresh counts, and the answer to the refresh does not', async () => {
    const world = await openWorld('APP');
    const { app } = world;
    await app.call('signedIn', await world.answerFor('user'));
    let other: string | undefined;
    // The app receives the sign-in before this response.
    world.service(async () => {
      if (other) return undefined;
      other = await world.answerFor('other');
      await app.call('signedIn', other);
      return undefined;
    });
    await world.advance(16 * MINUTE);
    await polled(async () => other && (await app.token()) === tokenOf(other)).toBe(true);
    expect(app.log.filter((line) => line.startsWith('refresh'))).toEqual([]);
  });

  test('an answer that is none is an error that does not quote it, and changes nothing', async () => {
    const world = await openWorld('APP');
    const first = await world.answerFor('user');
    await world.app.call('signedIn', first);
    const late = { ...JSON.parse(first).body, refresh_from: 1_900_000_000 };
    const short = { ...JSON.parse(first).body, refresh_response_key: 'c2hvcnQ=' };
    const wrong = [{}, { status: 'error' }, { status: 'success', body: {} }, late, short].map((one) =>
      JSON.stringify(one),
    );
    for (const text of ['', '{', '[]', 'null', ...wrong])
      await expect(world.app.call('renewed', text)).rejects.toThrow(
        /^answer: expected the JSON of a generate response, its body or an opt-out$/,
      );
    expect(await world.app.token()).toBe(tokenOf(first));
  });

  test('messages that are none, of another version, of frames and of other origins change nothing', async () => {
    const world = await openWorld('APP');
    const { app } = world;
    await app.call('signedIn', await world.answerFor('user'));
    const page = await world.open();
    const token = await agreed(world, page);
    const clear = { v: 1, ns: 'tessera', kind: 'evt', type: 'changed', gen: 9, body: { phase: 'empty' } };
    const say = (text: string, more = {}) =>
      app.call('message', {
        view: 'view-1',
        page: 'x',
        text,
        origin: page.url().slice(0, -1),
        isMainFrame: true,
        ...more,
      });
    for (const text of ['', '{', 'null', '[]', '"text"', '[['.repeat(50_000)]) await say(text);
    await say(JSON.stringify({ ...clear, v: 2 }));
    await say(JSON.stringify({ ...clear, ns: 'other' }));
    await say(JSON.stringify(clear), { isMainFrame: false });
    await say(JSON.stringify(clear), { origin: 'https://evil.example' });
    expect(await app.token()).toBe(token);
    await say(JSON.stringify(clear));
    expect(await app.token()).toBeNull();
  });

  test('storage that the app cannot read counts as empty', async () => {
    const { app } = await openWorld('APP');
    for (const text of [
      '',
      'no json',
      '[]',
      '{"gen":"x","user":"nobody"}',
      '{"user":"SIGNED_IN","set":{},"token":"a"}',
    ]) {
      await app.call('store', text);
      await app.restart();
      expect(await app.token()).toBeNull();
    }
  });

  test('the log contains no token and no key', async () => {
    const world = await openWorld('APP');
    const { app } = world;
    const answer = await world.answerFor('user');
    await app.call('signedIn', answer);
    const page = await world.open();
    const first = await agreed(world, page);
    await world.advance(16 * MINUTE);
    await agreed(world, page, first);
    expect(app.log).toContain('app: evt set, gen 1');
    for (const value of Object.values({ ...JSON.parse(answer).body, first }))
      expect(app.log.join('\n')).not.toContain(`${value}`);
  });
});

describe.skipIf(missing)('the Kotlin host, the page owns the identity', () => {
  test('the app is told of each token, logout and opt-out, and never of a refresh token', async () => {
    const world = await openWorld('PAGE');
    const { app } = world;
    const page = await world.open();
    await page.evaluate(`session.setTokens(${await world.answerFor('user')})`);
    const first = await agreed(world, page);
    await world.advance(16 * MINUTE);
    await agreed(world, page, first);
    expect(JSON.stringify(await app.stored())).not.toMatch(/refresh/);
    await page.evaluate('session.clear()');
    await polled(app.token).toBeNull();
    await page.evaluate(`session.setTokens(${await world.answerFor('other')})`);
    await agreed(world, page, first);
    await page.evaluate(`session.setTokens({ status: 'optout' })`);
    await polled(async () => (await app.stored()).user).toBe('OPTED_OUT');
    expect(await app.token()).toBeNull();
  });

  test('the app signs a user in and out; only the page refreshes', async () => {
    const world = await openWorld('PAGE');
    const { app } = world;
    const page = await world.open();
    await app.call('signedIn', await world.answerFor('user'));
    const first = await agreed(world, page);
    await world.advance(16 * MINUTE);
    await agreed(world, page, first);
    expect(world.refreshes()).toBe(1);
    await app.call('signedOut');
    await polled(() => phaseIn(page)).toBe('empty');
    expect(await app.token()).toBeNull();
  });

  test('a page that has lost its storage gets the set that the app signed in with, and refreshes it', async () => {
    const world = await openWorld('PAGE');
    const { app } = world;
    await app.call('signedIn', await world.answerFor('user'));
    const first = await agreed(world, await world.open());
    await world.advance(2 * HOUR);
    await world.restart();
    const page = await world.open();
    await agreed(world, page, first);
  });

  test('an app that has lost its storage is told the token of the page when that connects', async () => {
    const world = await openWorld('PAGE');
    const first = await world.open();
    await first.evaluate(`session.setTokens(${await world.answerFor('user')})`);
    const token = await agreed(world, first);
    expect(await agreed(world, await world.open(await world.restart('{}')))).toBe(token);
  });

  test('a page that has lost its storage gets nothing if it had signed the user in itself', async () => {
    const world = await openWorld('PAGE');
    const { app } = world;
    const first = await world.open();
    await first.evaluate(`session.setTokens(${await world.answerFor('user')})`);
    const token = await agreed(world, first);
    await world.restart();
    const page = await world.open();
    expect(await phaseIn(page)).toBe('empty');
    // The app may use its token until it expires.
    expect(await app.token()).toBe(token);
    await world.advance(61 * MINUTE);
    await polled(app.token).toBeNull();
  });
});
