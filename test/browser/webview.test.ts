/** The demo of a page in an app, in a real Chromium: a real operator, the demo's publisher, and a page that simulates the app. */

import type { Frame, Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { INSTALL_MS } from '../../build/packages.ts';
import { createPublisher } from '../../demo/publisher.ts';
import { createOperator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { missing } from '../support/android.ts';
import { openProfile, serveSite } from '../support/browser.ts';

const WAIT = { timeout: 20_000 };

/** The app's page, and the page in its webview. The app is the stand-in, unless it is chosen to be the Kotlin file. */
const openApp = async (owner: 'host' | 'page', bridge = '0', kind = 'stand-in') => {
  const operator = createOperator({ roles: ['GENERATOR', 'OPTOUT'], refreshFrom: 1, identityExpires: 600 });
  const asked: string[] = [];
  const operatorAt = await listen(
    {
      fetch: (request) => {
        asked.push(new URL(request.url).pathname);
        return operator.fetch(request);
      },
    },
    { port: 0, graceMs: 0 },
  );
  onTestFinished(operatorAt.close);
  const publisher = createPublisher({ baseUrl: operatorAt.url, ...operator.participants[0]! });
  const { url, close } = await listen(publisher, { port: 0, graceMs: 0 });
  onTestFinished(publisher.close);
  onTestFinished(close);
  const app = await (await openProfile()).newPage();
  const thrown: Error[] = [];
  app.on('pageerror', (error) => thrown.push(error));
  onTestFinished(() => expect(thrown).toEqual([]));
  if (kind === 'stand-in')
    await app.route('**/webview/app', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: 'data: {"missing":"it needs Java"}\n\n' }),
    );
  await app.goto(`${url}/webview`);
  // Until the server has compiled the Kotlin file, or cannot.
  await expect.poll(() => app.textContent('#which'), { timeout: INSTALL_MS }).not.toMatch(/while|JavaScript\.$/);
  expect(await app.inputValue('#app')).toBe(kind);
  await app.selectOption('#bridge', bridge);
  if (owner === 'page') await app.selectOption('#owner', owner);
  const frame = app.frames()[1]!;
  await frame.waitForURL(`**/webview-page?owner=${owner}`);
  return { app, frame, asked };
};

const tail = async (page: Page | Frame, id: string) => (await page.textContent(`#${id}`))!.slice(-8);
/** Wait until app and page show the same token; returns its last characters. */
const agree = async (app: Page, frame: Frame): Promise<string> => {
  await expect.poll(async () => (await tail(app, 'app-token')) === (await tail(frame, 'token')), WAIT).toBe(true);
  return tail(app, 'app-token');
};
const shows = (page: Page | Frame, id: string, text: string) =>
  expect.poll(() => page.textContent(`#${id}`), WAIT).toBe(text);

/** Sign in in the app; both sides get the token and, after a second, the refreshed one. */
const signInAndRefresh = async (app: Page, frame: Frame, asked: readonly string[]) => {
  await app.click('#sign-in');
  await expect.poll(() => tail(frame, 'token'), WAIT).not.toBe('no token');
  const first = await agree(app, frame);
  await expect.poll(async () => (await agree(app, frame)) !== first, WAIT).toBe(true);
  expect(asked).toContain('/v2/token/refresh');
};

test('the app owns, with a bridge after 2 s: the page adopts, and its logout reaches the app', async () => {
  const { app, frame, asked } = await openApp('host', '2000');
  await app.click('#sign-in');
  await shows(frame, 'phase', 'fresh');
  const first = await agree(app, frame);
  await shows(frame, 'host', 'The app has responded.');
  await app.click('#refresh');
  await expect.poll(() => tail(frame, 'token'), WAIT).not.toBe(first);
  await agree(app, frame);
  await frame.click('#sign-out');
  await shows(app, 'app-token', 'none');
  await shows(frame, 'token', 'no token');
  expect(asked).not.toContain('/v2/token/refresh');
});

test('the page owns: the app supplies a login, and receives the refreshes', async () => {
  const { app, frame, asked } = await openApp('page');
  await signInAndRefresh(app, frame, asked);
  await shows(frame, 'host', 'The app has responded.');
});

test.skipIf(missing)(
  'with Java, the app is the Kotlin file, and its log is shown',
  async () => {
    const { app, frame, asked } = await openApp('host', '0', 'kotlin');
    await shows(
      app,
      'which',
      'The server has Java: the app is the library of hosts/android, compiled and run on a JVM.',
    );
    await signInAndRefresh(app, frame, asked);
    await shows(frame, 'host', 'The app has responded.');
    await expect.poll(() => app.textContent('#log'), WAIT).toContain('app: evt set, gen 1');
    expect(await app.textContent('#log')).toContain('refresh: success');
    await frame.click('#sign-out');
    await shows(app, 'app-token', 'none');
  },
  INSTALL_MS,
);

test('without Java, the app is a stand-in, and the page says so', async () => {
  const { app } = await openApp('host');
  await shows(app, 'which', 'The app is a stand-in in JavaScript, not the library of hosts/android: it needs Java.');
  expect(await app.isVisible('#log-panel')).toBe(false);
});

test('without a bridge the page works as usual', async () => {
  const { frame } = await openApp('host', 'never');
  await shows(frame, 'host', 'No app has responded within 3 s: this page runs on its own until one does.');
});

test('messages of frames are ignored, even after the frame is removed', async () => {
  const liar = await serveSite({ '/': '<!doctype html><title>liar</title>' });
  const site = await serveSite({
    '/': `<!doctype html><title>page</title><script src="/tessera.js"></script>
      <iframe name="liar" src="${liar.origin}/"></iframe>
      <script type="module">
        import { connectWebview } from '/page/webview.js';
        window.heard = [];
        addEventListener('message', ({ source, origin, data }) => heard.push([source === null, origin, data]));
        const session = window.session = tessera.createSession({ baseUrl: location.origin });
        connectWebview(session);
        await session.ready;
        window.cleared = 0;
        const { clear } = session;
        session.clear = () => (cleared++, clear());
        window.there = true;
      </script>`,
  });
  const page = await (await openProfile()).newPage();
  await page.goto(`${site.origin}/`);
  await page.waitForFunction('window.there');
  const message = (type: string) => JSON.stringify({ v: 1, ns: 'tessera', kind: 'evt', type, gen: 9 });
  const order = message('clear');
  await page.evaluate((text) => window.postMessage(text, '/'), message('hello'));
  await page.waitForFunction('heard.length === 1');
  const frame = page.frame('liar')!;
  await frame.evaluate((text) => parent.postMessage(text, '*'), order);
  await page.waitForFunction('heard.length === 2');
  // Posted, and gone before it is heard: what is heard then has no source.
  await page.evaluate(
    ([text]) => {
      const gone = document.createElement('iframe');
      document.body.append(gone);
      (gone.contentWindow as never as { eval(code: string): void }).eval(
        `parent.postMessage(${JSON.stringify(text)}, '*')`,
      );
      gone.remove();
    },
    [order],
  );
  await page.waitForFunction('heard.length === 3');
  expect(await page.evaluate('cleared')).toBe(0);
  // The page itself, as an app that runs a script in it, is heard.
  await page.evaluate((text) => window.postMessage(text, '/'), order);
  await page.waitForFunction('cleared === 1');
  // An app that dispatches an event on the document, as React Native does on Android, too.
  await page.evaluate((data) => document.dispatchEvent(new MessageEvent('message', { data })), order);
  await page.waitForFunction('cleared === 2');
});
