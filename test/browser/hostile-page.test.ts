/** The page around the runtime: named elements and frames, frozen builtins, prototypes that other scripts have extended. */

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { serveSite } from '../support/browser.ts';
import { openPage, startOperator } from './publisher.ts';

/** Names of globals that the files of the package read or create. */
const GLOBALS =
  'tessera pbjs googletag google __uid2 __euid __tcfapi __gpp Capacitor tesseraHost ReactNativeWebView'.split(' ');

const FROZEN = `<script>
  for (const name of Object.getOwnPropertyNames(window)) {
    const builtin = /^[A-Z]/.test(name) && window[name];
    if (typeof builtin !== 'function') continue;
    Object.freeze(builtin);
    if (builtin.prototype) Object.freeze(builtin.prototype);
  }
</script>`;

const EXTENDED = `<script>
  for (const builtin of [Object, Array, Function, String, Promise]) builtin.prototype.extra = () => 'extra';
</script>`;

const ELEMENTS = `<div id="elements"></div><script>
  const members = [Document, Node, EventTarget].flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype));
  elements.innerHTML = members.map((name) => '<img name="' + name + '">').join('');
</script>`;

/** Two elements of each name, with children that take the place of members. */
const NAMED = GLOBALS.map(
  (name) =>
    `<form id="${name}">${['cmd', 'que', 'push', 'init', 'callbacks', 'session'].map((child) => `<input name="${child}">`).join('')}</form><a id="${name}"></a>`,
).join('');

const framesOf = (origin: string) =>
  GLOBALS.map((name) => `<iframe hidden name="${name}" src="${origin}/frame"></iframe>`).join('');

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

/** A page with the runtime and every adapter, and one with the drop-in. `before`: what precedes their scripts. */
const serve = async (before: (otherOrigin: string) => string) => {
  const { baseUrl, handler } = await startOperator();
  const other = await serveSite({ '/frame': '<p>a page of another origin</p>' });
  const page = `<!doctype html><title>page</title>${before(other.origin)}`;
  return serveSite({
    '/': `${page}<script src="/tessera.js" data-base-url="${baseUrl}" data-provide="/token"></script>
      <script>window.tokens = []; tessera.session.on('token', ({ cause }) => tokens.push(cause));</script>${ADAPTERS}`,
    '/drop-in': `${page}<script src="/tessera-uid2.js"></script><script>
      window.events = [];
      __uid2.callbacks.push((event) => events.push(event));
      fetch('/token', { method: 'POST' })
        .then((response) => response.json())
        .then(({ body }) => __uid2.init({ baseUrl: '${baseUrl}', identity: body }));
      </script>`,
    '/token': handler,
  });
};

/** Whether a snippet that runs after the adapters finds their global and its queue, and no element or frame. */
const snippet = (page: Page, name: string, queue: string) =>
  page.evaluate(
    `Object.hasOwn(window, '${name}') && Object.getPrototypeOf(${name}) === Object.prototype && Array.isArray(${name}.${queue})`,
  );

test.each<[what: string, before: (otherOrigin: string) => string]>([
  ['elements with the names of the document’s members', () => ELEMENTS],
  ['elements with the names of globals', () => NAMED],
  ['frames of another origin with the names of globals', framesOf],
  ['a script that has frozen every builtin', () => FROZEN],
  ['a library that extends the prototypes of builtins', () => EXTENDED],
])('%s: runtime, drop-in and adapters work, and nothing is thrown', async (_, before) => {
  const site = await serve(before);
  const page = await openPage(`${site.origin}/`);
  await page.waitForFunction('window.areConnected && tokens.includes("refresh")');
  expect(await page.evaluate('window.consent')).toBe(false);
  expect(await snippet(page, 'pbjs', 'que')).toBe(true);
  expect(await snippet(page, 'googletag', 'cmd')).toBe(true);
  expect(await page.evaluate('googletag.secureSignalProviders.map(({ id }) => id)')).toEqual(['uidapi.com']);
  const dropIn = await openPage(`${site.origin}/drop-in`);
  await dropIn.waitForFunction('events.filter((event) => event === "IdentityUpdated").length > 0');
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
