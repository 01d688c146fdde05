import { Hono } from 'hono';
import { getCookie } from 'hono/cookie';
import { html } from 'hono/html';
import { createClient, tokenHandler } from 'tessera-id/server';

const required = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name}: expected an environment variable, got none`);
  return value;
};

const baseUrl = required('TESSERA_BASE_URL');
const apiKey = required('TESSERA_API_KEY');
const clientSecret = required('TESSERA_CLIENT_SECRET');

const tokens = tokenHandler({
  client: createClient({ baseUrl, apiKey, clientSecret }),
  // Who is signed in. Read it from your own login session, never from the body or the URL.
  user: (_request, email: string | undefined) => (email ? { email } : null),
  onError: (error) => console.error('token', error),
});

/**
 * The label of a user: use the account ID of your database. This example uses an HMAC of the address instead, with a secret of the
 * server, because a plain hash of an address is DII. Empty: nobody is signed in.
 */
const labelOf = async (email: string | undefined): Promise<string> => {
  if (!email) return '';
  const bytes = (text: string) => new TextEncoder().encode(text);
  const key = await crypto.subtle.importKey('raw', bytes(clientSecret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ]);
  const code = await crypto.subtle.sign('HMAC', key, bytes(email));
  return Array.from(new Uint8Array(code), (byte) => byte.toString(16).padStart(2, '0')).join('');
};

export const app = new Hono();
app.get('/', async (c) => {
  const label = await labelOf(getCookie(c, 'user'));
  // A cache must not give the page of one user to another.
  c.header('cache-control', 'private, no-store');
  return c.html(html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>Tessera</title>
        <link rel="icon" href="data:," />
        <script
          async
          src="/tessera.js"
          data-base-url="${baseUrl}"
          data-provide="/token"
          data-user="${label}"
        ></script>
        <script>
          (window.tessera = window.tessera || []).push((t) =>
            t.session.on('token', () => (document.title = 'a token')),
          );
        </script>
      </head>
      <body></body>
    </html>`);
});
app.post('/token', (c) => tokens(c.req.raw, getCookie(c, 'user')));
