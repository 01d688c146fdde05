/**
 * A minimal publisher's server: it knows who is signed in, asks the operator for the tokens of that user, and serves the
 * pages. API key and client secret never leave it.
 */

import { readFile } from 'node:fs/promises';
import { type Context, Hono } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { answerOf, type ClientOptions, createClient, isTokenError, tokenHandler } from '../src/server/index.ts';

const COOKIE = 'demo_session';

const PAGES: Record<string, string> = {
  '/': './page/index.html',
  '/webview': './page/webview.html',
  '/webview-page': './page/webview-page.html',
};

const FILES: Record<string, { from: string; type: string }> = {
  '/page.css': { from: './page/page.css', type: 'text/css' },
  '/page.js': { from: './page/page.js', type: 'text/javascript' },
  '/webview-app.js': { from: './page/webview-app.js', type: 'text/javascript' },
  '/webview-page.js': { from: './page/webview-page.js', type: 'text/javascript' },
  '/webview.js': { from: '../dist/page/webview.js', type: 'text/javascript' },
  '/tessera.js': { from: '../dist/tessera.js', type: 'text/javascript' },
  '/tessera-noble.js': { from: '../dist/tessera-noble.js', type: 'text/javascript' },
};

const read = (file: string) => readFile(new URL(file, import.meta.url), 'utf8');

/** Create the server: `fetch` answers a Request with a Response. `main.ts` listens on a port. */
export function createPublisher(options: ClientOptions) {
  const client = createClient(options);
  // Session id -> email of the signed-in user. A real publisher has a database.
  const users = new Map<string, string>();
  const emailOf = (c: Context) => users.get(getCookie(c, COOKIE) ?? '');

  const tokens = tokenHandler({
    client,
    user: (_, email: string | undefined) => (email ? { email } : null),
    onError: (error) => console.error(error),
  });

  const app = new Hono();

  app.use(async (c, next) => {
    await next();
    c.header('cache-control', 'no-store');
    c.header('content-security-policy', `default-src 'self'; connect-src 'self' ${options.baseUrl}; img-src data:`);
  });

  for (const [path, file] of Object.entries(PAGES)) {
    app.get(path, async (c) => c.html((await read(file)).replaceAll('{{operator}}', options.baseUrl)));
  }
  for (const [path, { from, type }] of Object.entries(FILES)) {
    app.get(path, async (c) => c.body(await read(from), 200, { 'content-type': `${type}; charset=utf-8` }));
  }

  // The page's `data-provide`.
  app.post('/token', (c) => tokens(c.req.raw, emailOf(c)));

  app.get('/me', (c) => {
    const email = emailOf(c);
    return email ? c.json({ email }) : c.body(null, 204);
  });

  // Sign in and answer with the first token set, which the page passes to `session.setTokens`.
  app.post('/sign-in', async (c) => {
    const { email } = await c.req.json<{ email: string }>();
    const answer = answerOf(await client.generate({ email }));
    const id = crypto.randomUUID();
    users.set(id, email);
    setCookie(c, COOKIE, id, { httpOnly: true, sameSite: 'Lax', path: '/' });
    return c.json(answer);
  });

  app.post('/sign-out', (c) => {
    users.delete(getCookie(c, COOKIE) ?? '');
    deleteCookie(c, COOKIE, { path: '/' });
    return c.body(null, 204);
  });

  // A user opts out at the service, for all publishers at once. Here the publisher forwards the request.
  app.post('/opt-out', async (c) => {
    const email = emailOf(c);
    if (!email) return c.body(null, 401);
    await client.optOut({ email });
    return c.body(null, 204);
  });

  app.onError((error, c) => {
    const isClientError = isTokenError(error) && error.code === 'client_error';
    if (!isClientError) console.error(error);
    return c.json(
      { message: isClientError ? error.message : "Something went wrong on the publisher's server." },
      isClientError ? 400 : 502,
    );
  });

  return { fetch: async (request: Request) => app.fetch(request) };
}
