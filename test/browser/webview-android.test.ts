/**
 * The library of hosts/android/, compiled and run on a JVM, around a real page in Chromium: both ends speak the same. Their messages travel
 * as on Android, and both ask a real operator. Operator, app and page read one clock, which the tests move. hosts/contract/ has the rules.
 */

import type { BrowserContext, Page } from 'playwright-core';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { INSTALL_MS } from '../../build/packages.ts';
import { createOperator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { answerOf, createClient } from '../../src/server/index.ts';
import { missing, startAndroidApp, startJvm } from '../support/android.ts';
import { openProfile, serveSite } from '../support/browser.ts';
import { MINUTE } from '../support/clock.ts';

beforeAll(() => (missing ? undefined : startJvm()), INSTALL_MS);

/** The parts of a set that are in the app's storage or a message. */
type Set = Record<string, unknown> & { readonly advertising_token: string };

const openWorld = async (owner: 'APP' | 'PAGE') => {
  let ahead = 0;
  const now = () => Date.now() + ahead;
  const operator = createOperator({ roles: ['GENERATOR', 'OPTOUT'], now, refreshFrom: 900, identityExpires: 3600 });
  const asked: string[] = [];
  const service = await listen(
    {
      fetch: async (request) => {
        const { pathname } = new URL(request.url);
        if (request.method !== 'OPTIONS') asked.push(pathname);
        const { status, headers, body } = await operator.fetch(request);
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
    refreshes: () => asked.filter((path) => path === '/v2/token/refresh').length,
    answerFor: async (name: string) =>
      JSON.stringify(answerOf(await client.generate({ email: `${name}@example.com` }))),
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
    restart: async () => {
      const profile = pages[0]!.context();
      for (const page of pages.splice(0)) await page.close();
      await app.restart();
      return profile;
    },
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

describe.skipIf(missing)(`the Kotlin host around a page${missing ? ` (missing: ${missing})` : ''}`, () => {
  test('a page adopts what the app signs in with and refreshes, and a logout of the app', async () => {
    const world = await openWorld('APP');
    const { app, answerFor } = world;
    const first = await answerFor('user');
    await app.call('signedIn', first);
    const page = await world.open();
    expect(await agreed(world, page)).toBe(tokenOf(first));
    await world.advance(16 * MINUTE);
    const second = await agreed(world, page, tokenOf(first));
    expect(world.refreshes()).toBe(1);
    await app.call('signedOut');
    await polled(() => phaseIn(page)).toBe('empty');
    expect(app.events.map(({ value }) => value)).toEqual([tokenOf(first), second, null]);
  });

  test('a sign-in and a logout in the page reach the app, which asks for a set of the new user', async () => {
    const world = await openWorld('APP');
    const { app } = world;
    const [first, other, renewed] = await Promise.all(['user', 'other', 'other'].map(world.answerFor));
    await app.call('signedIn', first!);
    const [page, second] = [await world.open(), await world.open()];
    await agreed(world, page);
    await page.evaluate(`session.setTokens(${other})`);
    expect(await agreed(world, page, tokenOf(first!))).toBe(tokenOf(other!));
    await polled(async () => app.events.at(-1)?.event).toBe('needsTokens');
    expect(JSON.stringify(await app.stored())).not.toMatch(/refresh_token/);
    await app.call('renew', renewed!);
    await agreed(world, second);
    await page.evaluate('session.clear()');
    await polled(app.token).toBeNull();
    await polled(() => phaseIn(second)).toBe('empty');
  });

  test('a start at which the storage cannot be read logs no page out, and the page has a token when it can', async () => {
    const world = await openWorld('APP');
    const { app } = world;
    await app.call('signedIn', await world.answerFor('user'));
    const token = await agreed(world, await world.open());
    await app.call('storage', 'read');
    const page = await world.open(await world.restart());
    await polled(async () => app.log.some((line) => line.startsWith('page: req get'))).toBe(true);
    expect([await app.token(), await phaseIn(page)]).toEqual([null, 'fresh']);
    await app.call('storage', '');
    await app.call('resume');
    expect(await agreed(world, page)).toBe(token);
  });

  test('a page that owns the identity tells each token and logout, and gets the set of the app when it has lost its storage', async () => {
    const world = await openWorld('PAGE');
    const { app } = world;
    await app.call('signedIn', await world.answerFor('user'));
    const page = await world.open();
    const first = await agreed(world, page);
    await world.advance(16 * MINUTE);
    const second = await agreed(world, page, first);
    await world.restart();
    const other = await world.open();
    await agreed(world, other);
    expect([world.refreshes(), await app.token()]).toEqual([2, expect.not.stringContaining(`${second}`)]);
    await other.evaluate('session.clear()');
    await polled(app.token).toBeNull();
  });
});
