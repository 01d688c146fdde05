/** The adapters and the Inspector on pages of the worlds: named elements and frames, frozen builtins, extended prototypes. */

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { serveSite } from '../support/browser.ts';
import { worlds } from '../worlds/worlds.ts';
import { openPage, startOperator } from './publisher.ts';

const ADAPTERS = `<script type="module">
  import { tcfConsent } from '/page/consent.js';
  import { connectPrebid } from '/page/user-id-module.js';
  import { connectSecureSignals } from '/page/secure-signals.js';
  import { connectWebview } from '/page/webview.js';
  const { session } = tessera;
  connectPrebid(session);
  connectSecureSignals(session);
  connectWebview(session);
  window.consent = await tcfConsent({ waitMs: 0 })(() => {});
  await session.getToken();
  window.areConnected = true;
</script>`;

/** Whether a snippet that runs after the adapters finds their global and its queue, and no element or frame. */
const snippet = (page: Page, name: string, queue: string) =>
  page.evaluate(
    `Object.hasOwn(window, '${name}') && Object.getPrototypeOf(${name}) === Object.prototype && Array.isArray(${name}.${queue})`,
  );

test.each([
  'elements with the names of the members of document',
  'elements with the names of the globals',
  'frames of another origin with the names of the globals',
  'frozen builtins',
  'enumerable members of the prototypes of builtins',
])('%s: every adapter works, and nothing is thrown', async (name) => {
  const { head = '', early = '' } = worlds.find((world) => world.name === name)!;
  const { baseUrl, handler } = await startOperator();
  const site = await serveSite({
    '/': `<!doctype html><title>page</title>${head}<script>{ ${early} }</script>
      <script src="/tessera.js" data-base-url="${baseUrl}" data-provide="/token"></script>${ADAPTERS}`,
    '/token': handler,
  });
  const page = await openPage(`${site.origin}/`);
  await page.waitForFunction('window.areConnected');
  expect(await page.evaluate('window.consent')).toBe(false);
  expect(await snippet(page, 'pbjs', 'que')).toBe(true);
  expect(await snippet(page, 'googletag', 'cmd')).toBe(true);
  expect(await page.evaluate('googletag.secureSignalProviders.map(({ id }) => id)')).toEqual(['uidapi.com']);
});

test('the Inspector shows a session from a script in the head, and beside an element named body', async () => {
  const { baseUrl, handler } = await startOperator();
  const site = await serveSite({
    '/': `<!doctype html><title>page</title>
      <script src="/tessera.js" data-base-url="${baseUrl}" data-provide="/token"></script>
      <script src="/tessera-inspector.js"></script>
      <body><form name="body"></form></body>`,
    '/late': `<!doctype html><title>page</title><body><form name="body"></form>
      <script src="/tessera.js" data-base-url="${baseUrl}" data-provide="/token"></script>
      <script src="/tessera-inspector.js"></script>`,
    '/token': handler,
  });
  for (const path of ['/', '/late']) {
    const page = await openPage(`${site.origin}${path}`);
    await page.locator('tessera-inspector[docked] strong', { hasText: 'fresh' }).waitFor();
  }
});
