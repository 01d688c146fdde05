/**
 * How long a return visit waits for its token, in the four ways in which a page may load the script: a file that the browser has not
 * cached, one that it has, a script in the page, and an import that is bundled with the page's own code. Each visit is a new page of
 * a profile whose IndexedDB has the set.
 *
 * Beside it, loaded in the same way, the floor: open the same database and read the same value, nothing else.
 *
 * Time counts from the instant at which the browser has the script, so compiling it counts too: `responseEnd` of the file, or the
 * script before the one in the page.
 */

import { readFile } from 'node:fs/promises';
import { build } from 'esbuild';
import type { BrowserContext } from 'playwright-core';
import { compare, figure, type Measurement, sleep } from './measure.ts';
import { QUIET_MS } from './peers/visits.ts';
import { startPages } from './support/page.ts';

const ROUNDS = 12;
const THROTTLING = [1, 4];
const CASES = ['file, not cached', 'cached file', 'inline', 'bundled'] as const;
type Case = (typeof CASES)[number];
const SIDES = ['tessera', 'bare'] as const;
type Side = (typeof SIDES)[number];

const DONE = `
  var doneAt = 0;
  var noteToken = (session) => session.on('token', () => {
    if (session.advertisingToken) doneAt ||= performance.now();
  });
  (window.tessera = window.tessera || []).push(({ session }) => noteToken(session));`;

const APP = `
  import { createSession } from './dist/session/index.js';
  noteToken(createSession({
    baseUrl: operator,
    provide: ({ signal }) => fetch('/token', { method: 'POST', signal }).then((response) => response.json()),
  }));`;

/** Opens the database of the session by its default name. The first visit of the bench creates it. */
const BARE = `
  const opening = indexedDB.open('tessera');
  opening.onsuccess = () => {
    const read = opening.result.transaction('session').objectStore('session').get('session');
    read.onsuccess = () => { if (read.result.set.advertisingToken) doneAt ||= performance.now(); };
  };`;

const root = new URL('..', import.meta.url).pathname;

const bundle = async (): Promise<string> => {
  const { outputFiles } = await build({
    stdin: { contents: APP, resolveDir: root },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
  });
  return outputFiles[0]!.text;
};

const pathOf = (how: Case, side: Side): string => `/${how.replaceAll(/\W+/g, '-')}/${side}`;

/** The pages and their scripts, by path. */
const routesOf = async (operatorUrl: string): Promise<Record<string, Response>> => {
  const [script, app] = await Promise.all([readFile(`${root}dist/tessera.js`, 'utf8'), bundle()]);
  const attributes = `data-base-url="${operatorUrl}" data-provide="/token"`;
  const tagOf = (how: Case, src: string, code: string): string => {
    if (how === 'inline')
      return `<script>var startedAt = performance.now();</script><script ${attributes}>${code}</script>`;
    return how === 'bundled'
      ? `<script type="module" src="${src}"></script>`
      : `<script async ${attributes} src="${src}"></script>`;
  };
  const routes: Record<string, Response> = {};
  for (const how of CASES)
    for (const side of SIDES) {
      const code = side === 'bare' ? `{${BARE}}` : how === 'bundled' ? app : script;
      const src = `${pathOf(how, side)}.js`;
      const html = `<!doctype html><title>bench</title><link rel="icon" href="data:,">
        <script>var operator = '${operatorUrl}'; ${DONE}</script>${tagOf(how, src, code)}`;
      const caching = how === 'file, not cached' ? 'no-store' : 'max-age=3600';
      routes[pathOf(how, side)] = new Response(html, { headers: { 'content-type': 'text/html' } });
      routes[src] = new Response(code, { headers: { 'content-type': 'text/javascript', 'cache-control': caching } });
    }
  return routes;
};

interface Timed {
  readonly startedAt?: number;
  readonly doneAt: number;
}

/** Visit a page. Returns ms from the script to the token. */
const visit = async (profile: BrowserContext, url: string, throttling: number): Promise<number> => {
  const page = await profile.newPage();
  const cdp = await profile.newCDPSession(page);
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: throttling });
  await page.goto(url);
  // Playwright's own script, which waits in the page, takes its main thread.
  await sleep(QUIET_MS * throttling);
  await page.waitForFunction(() => (window as never as Timed).doneAt > 0);
  const ms = await page.evaluate(() => {
    const { startedAt, doneAt } = window as never as Timed;
    const files = performance.getEntriesByType('resource') as PerformanceResourceTiming[];
    return doneAt - (startedAt ?? files.find(({ name }) => name.endsWith('.js'))!.responseEnd);
  });
  await page.close();
  return ms;
};

export const measure = async (): Promise<Measurement[]> => {
  const pages = await startPages({ refreshFrom: 3600, identityExpires: 7200, refreshExpires: 86_400 }, '', routesOf);
  const profile = await pages.open();
  const urlOf = (how: Case, side: Side) => new URL(pathOf(how, side), pages.url).href;
  await visit(profile, urlOf('inline', 'tessera'), 1);
  const measured: Measurement[] = [];
  for (const throttling of THROTTLING)
    for (const how of CASES) {
      const { ours, peer, ratio } = await compare(
        { rounds: ROUNDS, warmUp: 3 },
        () => visit(profile, urlOf(how, 'tessera'), throttling),
        () => visit(profile, urlOf(how, 'bare'), throttling),
      );
      measured.push({
        what: `time to the token on a return visit, ${how}, CPU throttled ${throttling}x, of a bare open and read of IndexedDB`,
        value: ratio,
        unit: '',
        ...(throttling === 1 && { limit: { atMost: 3 } }),
        beside: `${figure(ours)} and ${figure(peer)} ms; ${pages.engine}`,
      });
    }
  await pages.close();
  return measured;
};
