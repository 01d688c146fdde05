/** The publisher and the operator of one world: its pages, its users, and the sets that it hands out. */

import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { root } from '../../build/dist.ts';
import { answerOf } from '../../src/server/index.ts';
import { type Publisher, startOperator } from '../browser/publisher.ts';
import { type OnEnd, type Route, type Site, serveSite } from '../support/browser.ts';
import { RECORDER } from './recorder.ts';
import type { World } from './world.ts';

/** How the library gets onto the page. */
export type Build = 'tag' | 'module' | 'drop-in';

/** The page's own call of its server. It does not use `fetch`, which is not the subject here. */
const provideFrom = (tokenAt: string) => `() => new Promise((resolve, reject) => {
  const request = new XMLHttpRequest();
  request.open('POST', '${tokenAt}');
  request.onerror = reject;
  request.onload = () => resolve(request.status === 200 ? JSON.parse(request.responseText) : null);
  request.send();
})`;

/** The page's own code for a build, and the tag if there is one. `tokenAt`: the route of its server that hands out sets. */
const loaders: Record<Build, (baseUrl: string, tokenAt: string) => string> = {
  tag: (baseUrl, tokenAt) => `<script src="/tessera.js" data-base-url="${baseUrl}" data-provide="${tokenAt}"></script>`,
  module: (baseUrl, tokenAt) => `<script type="module">
    import { createSession } from '/session.js';
    seen.start(createSession({ baseUrl: '${baseUrl}', provide: ${provideFrom(tokenAt)} }));
  </script>`,
  // The drop-in behind the methods of a session, as far as it has them.
  'drop-in': (baseUrl, tokenAt) => `<script src="/tessera-uid2.js"></script><script>{
    const provide = ${provideFrom(tokenAt)};
    const session = {
      get advertisingToken() { return __uid2.getAdvertisingToken(); },
      getToken: () => __uid2.getAdvertisingTokenAsync(),
      setTokens: async ({ body }) => __uid2.setIdentity(body),
      clear: async () => __uid2.disconnect(),
      signIn: async () => {
        __uid2.disconnect();
        __uid2.setIdentity((await provide()).body);
      },
      close: () => __uid2.abort(),
      on() {},
    };
    const hear = (event, { identity }) => {
      if (event === 'OptoutReceived') seen.event('optout', {});
      if (event === 'IdentityUpdated') seen.event(identity ? 'token' : 'expired', identity ? { advertisingToken: identity.advertising_token } : {});
      if (event !== 'InitCompleted') return;
      seen.start(session);
      if (!identity) provide().then((answer) => answer && __uid2.setIdentity(answer.body));
    };
    // A callback that is pushed late receives what it has missed.
    __uid2.callbacks.push((event) => event === 'InitCompleted' && __uid2.callbacks.push(hear));
    __uid2.init({ baseUrl: '${baseUrl}' });
  }</script>`,
};

/** What the pages of a world share with the story. */
export interface WorldSite extends Site, Pick<Publisher, 'client' | 'asked'> {
  /** The address of its page. */
  readonly page: string;
  /** Who is signed in at the publisher's server. */
  user: string;
  /** The page comes after 700 ms, so the page before stays for a while. */
  isSlow: boolean;
  /** How the service answers a refresh; undefined: as usual. */
  service: World['service'];
  /** A generate answer for a user, as JSON; its set is due and expires after so many ms. */
  issue(user: string, dueMs?: number, expiresMs?: number): Promise<string>;
  /** Whose a token is, and when it expires, if this site has issued it. */
  find(token: string): Promise<{ readonly user: string; readonly expiresAt?: number }>;
}

const DATABASES: Record<Build, string> = { tag: 'tessera', module: 'tessera', 'drop-in': 'tessera-uid2' };

const SCRIPT = { 'content-type': 'text/javascript' };

/** The module build, as a publisher's bundler makes it: path -> script. */
const bundle = async () => {
  const entryPoints = { session: `${root}dist/session/index.js` };
  // Without splitting, a helper of esbuild itself fails if Object.prototype has an enumerable member.
  const how = { bundle: true, format: 'esm', splitting: true, outdir: '/', write: false } as const;
  const { outputFiles } = await build({ entryPoints, ...how });
  return outputFiles.map(({ path, text }) => [path, async () => new Response(text, { headers: SCRIPT })] as const);
};
let bundled: ReturnType<typeof bundle> | undefined;

const USERS = ['ann', 'ben', 'cat', 'dan', 'eve'];
const emailOf = (user: string) => ({ email: `${user}@example.com` });

/** Write a page and its scripts into a folder of its own; returns its `file:` address. */
const writePage = async (html: string, recorder: string, onEnd: OnEnd): Promise<string> => {
  // Not a name by which the recorder knows the library's files.
  const folder = await mkdtemp(join(tmpdir(), 'world-'));
  onEnd(() => rm(folder, { recursive: true }));
  for (const name of ['tessera.js', 'tessera-uid2.js']) await copyFile(`${root}dist/${name}`, join(folder, name));
  await writeFile(join(folder, 'recorder.js'), recorder);
  await writeFile(join(folder, 'page.html'), html.replaceAll('src="/', 'src="'));
  return pathToFileURL(join(folder, 'page.html')).href;
};

export const serveWorld = async (world: World, kind: Build, onEnd: OnEnd): Promise<WorldSite> => {
  // No set of the operator itself is due within a story.
  const operator = await startOperator(600, onEnd);
  const { baseUrl, client, asked } = operator;
  const owners = new Map<string, { user: string; expiresAt?: number }>();
  const issue = async (user: string, dueMs = 600_000, expiresMs = 610_000) => {
    const result = await client.generate(emailOf(user));
    if (result.status !== 'success') return JSON.stringify(answerOf(result));
    const now = Date.now();
    const tokens = { ...result.tokens, refreshAt: now + dueMs, expiresAt: now + expiresMs };
    owners.set(tokens.advertisingToken, { user, expiresAt: tokens.expiresAt });
    return JSON.stringify(answerOf({ ...result, tokens }));
  };
  const { early = '', late = '', head = '', body = '', tag = (given: string) => given, policy, routes } = world;
  const type = kind === 'module' ? ' type="module"' : '';
  const script = (code: string, how = '') => (code ? `<script${how}>{ ${code} }</script>` : '');
  const pageWith = (tokenAt: string) =>
    `<!doctype html><meta charset="utf-8"><title>page</title><link rel="icon" href="data:,">
<script src="/recorder.js"></script>${head}${script(early)}${tag(loaders[kind](baseUrl, tokenAt), baseUrl)}${script(late, type)}${body}`;
  const recorder = `${RECORDER} seen.database = '${DATABASES[kind]}';`;
  const headers: Record<string, string> = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' };
  if (policy) headers['content-security-policy'] = policy(baseUrl);
  const pages: Record<string, Route> = {
    '/': async () => {
      if (served.isSlow) await sleep(700);
      return new Response(pageWith('/token').replaceAll('<script', '<script nonce="n"'), { headers });
    },
    '/recorder.js': () => new Response(recorder, { headers: SCRIPT }),
    ...Object.fromEntries(await (bundled ??= bundle())),
    '/token': async () => {
      // For pages whose origin is opaque.
      const headers = { 'access-control-allow-origin': '*', 'content-type': 'application/json' };
      const { user } = served;
      const answer = async () =>
        user === 'nobody' ? new Response(null, { status: 204, headers }) : new Response(await issue(user), { headers });
      return world.publisher ? world.publisher(answer) : answer();
    },
    ...routes,
  };
  const site = await serveSite(pages, onEnd);
  const origin = world.isPlain ? site.plainOrigin : site.origin;
  const served: WorldSite = {
    ...site,
    origin,
    page: world.isFile ? await writePage(pageWith(`${origin}/token`), recorder, onEnd) : `${origin}/`,
    client,
    asked,
    user: 'nobody',
    isSlow: false,
    service: undefined,
    issue,
    find: async (token) => {
      for (const user of owners.has(token) ? [] : USERS)
        if (await client.validate(token, emailOf(user))) owners.set(token, { user });
      return owners.get(token) ?? { user: 'a stranger' };
    },
  };
  let nth = 0;
  operator.answerRefresh = (go, request) => (served.service ?? world.service ?? (() => go()))(go, ++nth, request);
  return served;
};
