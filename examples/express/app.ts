import { getRequestListener } from '@hono/node-server';
import express from 'express';
import { createClient, tokenHandler } from 'tessera-id/server';

const { TESSERA_BASE_URL = '', TESSERA_API_KEY = '', TESSERA_CLIENT_SECRET = '' } = process.env;

/** Who is signed in. Read it from your own login session, never from the body or the URL. */
const signedIn = (request: Request): { email: string } | null => {
  const [, user] = /(?:^|;\s*)user=([^;]+)/.exec(request.headers.get('cookie') ?? '') ?? [];
  return user ? { email: decodeURIComponent(user) } : null;
};

const tokens = tokenHandler({
  client: () =>
    createClient({ baseUrl: TESSERA_BASE_URL, apiKey: TESSERA_API_KEY, clientSecret: TESSERA_CLIENT_SECRET }),
  user: (request) => signedIn(request),
  onError: (error) => console.error('token', error),
});

export const app = express();
// Before every body parser: the listener reads the request itself, and converts it to a `Request`.
app.use('/token', getRequestListener(tokens));
app.get('/tessera.js', (_request, response) =>
  response.sendFile('tessera.js', { root: 'node_modules/tessera-id/dist' }),
);
app.use(express.static('public'));
