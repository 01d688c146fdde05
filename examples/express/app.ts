import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import express from 'express';
import { createClient, tokenHandler } from 'tessera-id/server';
import { toNodeListener } from 'tessera-id/server/node';
import { metrics, vitals } from './vitals.ts';

const required = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name}: expected an environment variable, got none`);
  return value;
};

const baseUrl = required('TESSERA_BASE_URL');
const apiKey = required('TESSERA_API_KEY');
const clientSecret = required('TESSERA_CLIENT_SECRET');

/** Who is signed in. Read it from your own login session, never from the body or the URL. */
const emailOf = (cookie: string | null | undefined): string | undefined => {
  const [, user] = /(?:^|;\s*)user=([^;]+)/.exec(cookie ?? '') ?? [];
  return user && decodeURIComponent(user);
};

/**
 * The label of a user: use the account ID of your database. This example uses an HMAC of the address instead, with a secret of the
 * server, because a plain hash of an address is DII. Empty: nobody is signed in.
 */
const labelOf = (email: string | undefined): string =>
  email ? createHmac('sha256', clientSecret).update(email).digest('base64url') : '';

const tokens = tokenHandler({
  client: createClient({ baseUrl, apiKey, clientSecret }),
  user: (request) => {
    const email = emailOf(request.headers.get('cookie'));
    return email ? { email } : null;
  },
  onError: (error) => console.error('token', error),
});

export const app = express();
// Before every body parser: the listener reads the request itself, and converts it to a `Request`.
app.use('/token', toNodeListener(tokens));
app.use('/vitals', vitals);
// While developing, the file that says in the console what is wrong.
const script = process.env['NODE_ENV'] === 'production' ? 'tessera.js' : 'tessera.dev.js';
app.get('/tessera.js', (_request, response) => response.sendFile(script, { root: 'node_modules/tessera-id/dist' }));
app.get('/tessera-vitals.js', (_request, response) =>
  response.sendFile('tessera-vitals.js', { root: 'node_modules/tessera-id/dist' }),
);
// For Prometheus. On your own server, let the proxy answer this path to nobody else.
app.get('/metrics', async (_request, response) => {
  response.type(metrics.contentType).send(await metrics.metrics());
});
app.get('/', async (request, response) => {
  const page = (await readFile(new URL('index.html', import.meta.url), 'utf8')).replace('%BASE_URL%', baseUrl);
  // A cache must not give the page of one user to another.
  response.set('cache-control', 'private, no-store').type('html');
  response.send(page.replace('%USER%', labelOf(emailOf(request.headers.cookie))));
});
