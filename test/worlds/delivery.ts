/** Worlds of kind 5, pages that move or block the script, and of kind 6, hostile answers and records. */

import { expect } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { fileOf } from '../support/browser.ts';
import { call } from './page.ts';
import { inTabs, type World } from './world.ts';

/** Names of globals that the files of the package read or create. */
const GLOBALS =
  'tessera pbjs googletag google __uid2 __euid __tcfapi __gpp Capacitor tesseraHost ReactNativeWebView'.split(' ');

/** Members of the globals, as elements inside. */
const INPUTS = ['cmd', 'que', 'push', 'init', 'callbacks', 'session'].map((name) => `<input name="${name}">`).join('');

/** Names that public filter lists block, wherever they occur in the address of a script. */
const BLOCKED = /\/prebid\.|_prebid\.js/;

const PREBID = packageJson.exports['./prebid'].default.replace('./dist', '');

const ownScripts = (baseUrl: string) =>
  `default-src 'none'; img-src data:; script-src 'self'; connect-src 'self' ${baseUrl}; require-trusted-types-for 'script'`;

/** Whether the server of the second file fails. */
const noble = { isAway: false };

const SOURCE = `fetch('/tessera.js').then((response) => response.text())`;

/** Kind 5: what the script needs from its tag is read once, while it runs; names are those that lists leave alone. */
export const moved: World[] = [
  {
    name: '<base> of another site in user content after the tag',
    in: ['tag'],
    body: '<base href="http://127.0.0.1:1/">',
    builds: ['tag'],
  },
  {
    name: 'elements with the names of the globals',
    in: ['tag', 'drop-in'],
    head: GLOBALS.map((id) => `<form id="${id}">${INPUTS}</form><a id="${id}"></a>`).join(''),
  },
  {
    name: 'frames of another origin with the names of the globals',
    in: ['drop-in'],
    head: GLOBALS.map((name) => `<iframe hidden name="${name}" src="data:text/html,"></iframe>`).join(''),
  },
  {
    name: 'elements with the names of the members of document',
    in: ['tag'],
    head: '<div id="elements"></div>',
    early: `const members = [Document, Node, EventTarget].flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype));
      document.getElementById('elements').innerHTML = members.map((name) => '<img data-base-url="https://other.example" name="' + name + '">').join('');`,
  },
  {
    name: 'a policy that allows scripts by nonce only, and no text as script',
    in: ['tag', 'drop-in'],
    policy: (baseUrl) =>
      `default-src 'none'; img-src data:; script-src 'nonce-n'; connect-src 'self' ${baseUrl}; require-trusted-types-for 'script'`,
    builds: ['tag', 'drop-in'],
  },
  {
    name: 'plain http, own scripts only, and a server that fails once: no Web Crypto, no Web Locks, a second file',
    in: ['npm test', 'firefox', 'oldest'],
    isPlain: true,
    policy: ownScripts,
    // A browser remembers a module that could not be loaded.
    before: {
      due: async ({ tabs: [one] }) => {
        noble.isAway = true;
        expect(await call(one, 'refresh()')).toBe('decrypt_failed');
        noble.isAway = false;
        expect(await call(one, 'refresh()')).toBe('resolved');
      },
    },
    routes: {
      '/tessera-noble.js': () => (noble.isAway ? new Response(null, { status: 503 }) : fileOf('tessera-noble.js')),
    },
    errors: ['decrypt_failed'],
    builds: ['tag'],
  },
  {
    name: 'the same with the full file, which fetches no other',
    isPlain: true,
    tag: (tag) => tag.replace('tessera.js', 'tessera.full.js'),
    policy: ownScripts,
    before: { close: async ({ site }) => expect(site.requests).not.toContain('GET /tessera-noble.js') },
    builds: ['tag'],
  },
  {
    name: 'the tag is inserted by another script',
    in: ['tag'],
    tag: (_, baseUrl) => `<script>const tag = document.createElement('script');
      Object.assign(tag.dataset, { baseUrl: '${baseUrl}', provide: '/token' });
      tag.src = '/tessera.js'; document.head.append(tag);</script>`,
    builds: ['tag'],
  },
  {
    name: 'the file is run as text, without a tag: the page creates the session',
    tag: (_, baseUrl) => `<script>${SOURCE}.then(eval.bind(null)).then(() => {
      const provide = async () => (await fetch('/token', { method: 'POST' }).then((answer) => answer.status === 204 ? null : answer.json()));
      seen.start(tessera.createSession({ baseUrl: '${baseUrl}', provide })); });</script>`,
    builds: ['tag'],
  },
  {
    name: 'a dataset that answers only to names, as of a script in a worker',
    in: ['tag'],
    early: `Object.defineProperty(HTMLElement.prototype, 'dataset', { get() { return new Proxy({}, { get: (_, name) =>
      this.getAttribute('data-' + String(name).replace(/[A-Z]/g, (letter) => '-' + letter.toLowerCase())) ?? undefined }); } });`,
    builds: ['tag'],
  },
  {
    name: 'the tag is there three times, once with the full file',
    in: ['tag'],
    tag: (tag) => tag + tag + tag.replace('tessera.js', 'tessera.full.js'),
    builds: ['tag'],
  },
  {
    name: 'a service worker that handles every request',
    in: ['tag'],
    early: `navigator.serviceWorker.register('/worker.js');`,
    routes: {
      '/worker.js': () =>
        new Response(
          `addEventListener('activate', (event) => event.waitUntil(clients.claim()));
          addEventListener('fetch', (event) => event.respondWith(fetch(event.request)));`,
          { headers: { 'content-type': 'text/javascript' } },
        ),
    },
  },
  {
    name: 'document.open() after the tag removes every listener',
    in: ['tag'],
    late: `addEventListener('load', () => setTimeout(() => { document.open(); document.write('<p>new'); document.close(); }));`,
    before: { close: inTabs(`addEventListener('error', ({ message }) => seen.problems.push(message));`) },
  },
  {
    name: 'a content blocker that blocks the names on public lists',
    in: ['module'],
    tag: (script) =>
      script
        .replace('import', `import { connectPrebid } from '${PREBID}'; import`)
        .replace('start(', 'start(connectPrebid && '),
    routes: BLOCKED.test(PREBID) ? { [PREBID]: () => new Response(null, { status: 404 }) } : {},
    builds: ['module'],
  },
];

/** The bytes of an answer that does not end: after 64 MB nothing more comes, but no end. */
const sent = { bytes: 0, isStopped: false };
const endless = () =>
  new Response(
    new ReadableStream({
      pull: (controller) => {
        if (sent.bytes > 64_000_000) return new Promise(() => {});
        sent.bytes += 65_536;
        controller.enqueue(new Uint8Array(65_536).fill(65));
        return undefined;
      },
      cancel: () => void (sent.isStopped = true),
    }),
    { status: 502, headers: { 'access-control-allow-origin': '*' } },
  );

/** Put a value where the record is. */
const store =
  (value: string) =>
  ({ tabs: [one] }: { tabs: readonly [{ evaluate(code: string): Promise<unknown> }, unknown] }) =>
    one.evaluate(`new Promise((done) => (indexedDB.open(seen.database).onsuccess = ({ target: { result } }) => {
    const writing = result.transaction('session', 'readwrite');
    writing.objectStore('session').put(${value}, 'session');
    writing.oncomplete = () => { result.close(); done(1); };
  }))`);

const recordIs = (value: string): World => ({ name: `the record is ${value}`, before: { 'sign-in': store(value) } });

/** Kind 6: everything that is read has bounds, and what does not parse is absent. */
export const hostile: World[] = [
  {
    name: 'the first answer to a refresh never ends',
    in: ['tag'],
    service: async (go, nth) => (nth === 1 ? endless() : go()),
    moreRefreshes: { due: 1 },
    errors: ['http_status'],
    before: {
      due: async () => void Object.assign(sent, { bytes: 0, isStopped: false }),
      // How much was sent says little: the sockets of a fast machine hold 40 MB.
      'sign-in': async () => expect(sent.isStopped, 'the page ended the request').toBe(true),
    },
  },
  {
    name: 'the first answer to a refresh is a page of another server',
    service: async (go, nth) =>
      nth === 1 ? new Response('<html>', { status: 502, headers: { 'access-control-allow-origin': '*' } }) : go(),
    moreRefreshes: { due: 1 },
    errors: ['http_status'],
  },
  ...['null', '{}'].map(recordIs),
  ...[
    `{ v: 2, set: 'x' }`,
    `{ ...{}, v: 2, generation: NaN, baseUrl: [], set: {}, lease: 1, retry: { attempts: -1, waitUntil: Infinity } }`,
  ].map((value): World => ({ ...recordIs(value), in: ['tag'] })),
];
