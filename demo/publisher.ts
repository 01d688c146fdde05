/**
 * A publisher's server: it knows who is signed in, requests that user's tokens from the operator, and serves the pages. The API
 * key and the client secret never leave it.
 */

import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type Context, Hono } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { root } from '../build/dist.ts';
import {
  answerOf,
  type ClientOptions,
  createClient,
  isTokenError,
  tokenHandler,
  vitalsHandler,
} from '../src/server/index.ts';
import { createAdvertiser } from './advertiser.ts';
import { createControls } from './controls.ts';
import { canRun, createNotices, PAGES, renderPage } from './pages.ts';
import { prebidScript } from './prebid.ts';
import { createWebviewApp } from './webview.ts';
import { createWorld, type World } from './world.ts';

/** Files of `dist/` that are served under their own names. */
const BUILT = ['tessera.js', 'tessera.dev.js', 'tessera-noble.js', 'tessera-vitals.js', 'tessera-inspector.js'];
const BUILT_MODULES = ['inspector', 'webview', 'user-id-module', 'consent', 'secure-signals'];

function read(file: string) {
  return readFile(new URL(file, import.meta.url), 'utf8');
}

/** Bundle the React app, at the first request for it. */
async function bundleReact(): Promise<string> {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    entryPoints: [new URL('./page/react-app.jsx', import.meta.url).pathname],
    bundle: true,
    format: 'esm',
    write: false,
    jsx: 'automatic',
    external: ['/inspector.js'],
    define: { 'process.env.NODE_ENV': '"production"' },
    alias: {
      'tessera-id': `${root}dist/session/index.js`,
      'tessera-id/react': `${root}dist/page/react.js`,
    },
  });
  return outputFiles[0]!.text;
}

const PREBID_MODULES = ['userId', 'uid2IdSystem', 'prebidServerBidAdapter'];

/** Path of a script, a style sheet or figures -> its text: the pages' own files, those of `dist/`, and those built on demand. */
function scriptsOf(incumbent: string | undefined): Record<string, () => Promise<string>> {
  return {
    ...Object.fromEntries(
      readdirSync(new URL('./page/', import.meta.url))
        .filter((name) => /\.(?:js|css|json)$/.test(name))
        .map((name) => [`/${name}`, () => read(`./page/${name}`)]),
    ),
    ...Object.fromEntries(BUILT.map((name) => [`/${name}`, () => readFile(`${root}dist/${name}`, 'utf8')])),
    ...Object.fromEntries(
      BUILT_MODULES.map((name) => [`/${name}.js`, () => readFile(`${root}dist/page/${name}.js`, 'utf8')]),
    ),
    ...(canRun('/react') && { '/react-app.js': bundleReact }),
    '/pbjs.js': () => prebidScript(PREBID_MODULES),
    ...(incumbent && { '/incumbent.js': () => readFile(incumbent, 'utf8') }),
  };
}

export interface PublisherOptions {
  /** The world of the demo. Default: one that never changes. */
  readonly world?: World | undefined;
  /** Client options and world of the page that compares clients. Default: those of all pages. */
  readonly compared?: { readonly options: ClientOptions; readonly world: World } | undefined;
  /** Path of a copy of the UID2 JavaScript SDK. */
  readonly incumbent?: string | undefined;
  /** Installs the packages of a folder of the repository. */
  readonly install?: ((folder: string) => Promise<void>) | undefined;
}

/** Create the server: `fetch` answers a Request with a Response. `main.ts` listens on a port. */
export function createPublisher(
  options: ClientOptions,
  { world = createWorld(), compared = { options, world }, incumbent, install }: PublisherOptions = {},
) {
  const client = createClient(options);
  const app = new Hono();
  const noticeOf = createNotices(install);
  // The page that compares clients has its own operator, and signs in its own readers.
  const sites = [
    { path: '/compare', cookie: 'demo_compare', client: createClient(compared.options), ...compared },
    { path: '/', cookie: 'demo_session', client, options, world },
  ];
  const advertiser = createAdvertiser(client, world);
  const webview = createWebviewApp(options.baseUrl);

  app.use(async (c, next) => {
    if (c.req.method === 'POST' && !['same-origin', undefined].includes(c.req.header('sec-fetch-site')))
      return c.body(null, 403);
    await next();
    c.header('cache-control', 'no-store');
    // The operator's log uses it to tell the pages apart. Everything is on loopback.
    c.header('referrer-policy', 'unsafe-url');
    c.header(
      'content-security-policy',
      `default-src 'self'; connect-src 'self' ${options.baseUrl} ${compared.options.baseUrl}; img-src data:`,
    );
    return undefined;
  });
  for (const path of Object.keys(PAGES)) {
    const site = sites.find((one) => path.startsWith(one.path))!;
    const controls = controlsOf(site.path);
    app.get(path, async (c) => {
      const page = {
        operator: site.options.baseUrl,
        controls,
        world: { ...site.world.setting(), ...site.world.clock, name: controls },
      };
      const values = {
        operator: site.options.baseUrl,
        prebid: canRun('/compare/prebid') ? 'yes' : 'no',
        incumbent: incumbent ? 'yes' : 'no',
        lastRequest: `${site.world.log().at(-1)?.id ?? 0}`,
        // How this demo was started: in a clone, or from the package.
        command: existsSync(`${root}demo/main.ts`) ? 'npm run demo' : 'npx tessera-id demo',
      };
      return c.html(await renderPage(path, page, values, await noticeOf(path)));
    });
  }
  for (const [path, text] of Object.entries(scriptsOf(incumbent))) {
    const type = { css: 'text/css', json: 'application/json' }[path.split('.').at(-1)!] ?? 'text/javascript';
    app.get(path, async (c) => c.body(await text(), 200, { 'content-type': `${type}; charset=utf-8` }));
  }
  app.get('/demo/metrics', () => world.fetch(new Request(`${options.baseUrl}/metrics`), () => {}));
  for (const site of sites) {
    app.route(site.path, createReader(site.client, site.cookie));
    app.route(controlsOf(site.path), createControls(site.world));
  }
  // region vitals
  // The reports of the script tag's page. The dashboard shows them.
  const vitals = vitalsHandler({ record: world.addView });
  app.all('/vitals', (c) => vitals(c.req.raw));
  // endregion
  app.route('/advertiser', advertiser.routes);
  app.route('/webview', webview.routes);
  // Prebid's server: it bids nothing, and the page shows its last request.
  let asked: unknown = {};
  app.post('/auction', async (c) => {
    asked = await c.req.json();
    return c.json({ id: '1', seatbid: [] });
  });
  app.get('/auction/last', (c) => c.json(asked));
  app.onError((error, c) => {
    const isOurs = (isTokenError(error) && error.code === 'client_error') || error instanceof TypeError;
    if (!isOurs) console.error(error);
    return c.json(
      { message: isOurs ? error.message : "Something went wrong on the publisher's server." },
      isOurs ? 400 : 502,
    );
  });
  return {
    fetch: async (request: Request) => app.fetch(request),
    close: async () => {
      await Promise.all([advertiser.close(), webview.close()]);
    },
  };
}

/** Return the address of the controls of a site's operator. */
function controlsOf(path: string): string {
  return `${path === '/' ? '' : path}/demo`;
}

/**
 * Routes for the signed-in user, and for what that user may do.
 *
 * @param cookie  the name of the cookie that identifies the signed-in user.
 */
function createReader(client: ReturnType<typeof createClient>, cookie: string): Hono {
  // Session id -> email of the signed-in user. A real publisher has a database.
  const users = new Map<string, string>();
  const emailOf = (c: Context) => users.get(getCookie(c, cookie) ?? '');
  const app = new Hono();

  // region provide
  // The server side of the page's `provide`: the cookie identifies the user.
  const tokens = tokenHandler({
    client,
    user: (_, email: string | undefined) => (email ? { email } : null),
    onError: (error) => console.error(error),
  });
  app.post('/token', (c) => tokens(c.req.raw, emailOf(c)));
  // endregion

  app.get('/me', (c) => {
    const email = emailOf(c);
    return email ? c.json({ email }) : c.body(null, 204);
  });

  // region sign-in
  // Sign in, and answer with the first token set, which the page passes to `session.setTokens`.
  app.post('/sign-in', async (c) => {
    const { email } = await c.req.json<{ email: string }>();
    const answer = answerOf(await client.generate({ email }));
    const id = crypto.randomUUID();
    users.set(id, email);
    setCookie(c, cookie, id, { httpOnly: true, sameSite: 'Lax', path: '/' });
    return c.json(answer);
  });
  // endregion

  app.post('/sign-out', (c) => {
    users.delete(getCookie(c, cookie) ?? '');
    deleteCookie(c, cookie, { path: '/' });
    return c.body(null, 204);
  });

  // A user opts out at the service, for all publishers at once. Here the publisher forwards the request.
  app.post('/opt-out', async (c) => {
    const email = emailOf(c);
    if (!email) return c.body(null, 401);
    await client.optOut({ email });
    return c.body(null, 204);
  });
  return app;
}
