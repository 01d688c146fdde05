import { Hono } from 'hono';
import { getCookie } from 'hono/cookie';
import { createClient, tokenHandler } from 'tessera-id/server';

const { TESSERA_BASE_URL = '', TESSERA_API_KEY = '', TESSERA_CLIENT_SECRET = '' } = process.env;

const tokens = tokenHandler({
  client: () =>
    createClient({ baseUrl: TESSERA_BASE_URL, apiKey: TESSERA_API_KEY, clientSecret: TESSERA_CLIENT_SECRET }),
  // Who is signed in. Read it from your own login session, never from the body or the URL.
  user: (_request, email: string | undefined) => (email ? { email } : null),
  onError: (error) => console.error('token', error),
});

export const app = new Hono();
app.post('/token', (c) => tokens(c.req.raw, getCookie(c, 'user')));
