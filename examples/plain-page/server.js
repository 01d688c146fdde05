// The publisher's server with nothing but Node: a page, the script file, and the token handler.

import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createClient, tokenHandler } from 'tessera-id/server';
import { toNodeListener } from 'tessera-id/server/node';

const { PORT = '3000', NODE_ENV } = process.env;

/** @param {string} name */
const required = (name) => {
  const value = process.env[name];
  if (!value) throw new Error(`${name}: expected an environment variable, got none`);
  return value;
};

const baseUrl = required('TESSERA_BASE_URL');
const apiKey = required('TESSERA_API_KEY');
const clientSecret = required('TESSERA_CLIENT_SECRET');

/**
 * Who is signed in. Read it from your own login session, never from the body or the URL.
 *
 * @param {string | null | undefined} cookie
 */
const emailOf = (cookie) => {
  const [, user] = /(?:^|;\s*)user=([^;]+)/.exec(cookie ?? '') ?? [];
  try {
    return user && decodeURIComponent(user);
  } catch {
    return undefined; // an error would end the process
  }
};

/**
 * The label of a user: use the account ID of your database. This example uses an HMAC of the address instead, with a secret of the
 * server, because a plain hash of an address is DII. Empty: nobody is signed in.
 *
 * @param {string | undefined} email
 */
const labelOf = (email) => (email ? createHmac('sha256', clientSecret).update(email).digest('base64url') : '');

const tokens = toNodeListener(
  tokenHandler({
    client: createClient({ baseUrl, apiKey, clientSecret }),
    user: (request) => {
      const email = emailOf(request.headers.get('cookie'));
      return email ? { email } : null;
    },
    onError: (error) => console.error('token', error),
  }),
);

const page = (await readFile(new URL('index.html', import.meta.url), 'utf8')).replace('%BASE_URL%', baseUrl);
// While developing, the file that says in the console what is wrong.
const scriptFile = NODE_ENV === 'production' ? 'dist/tessera.js' : 'dist/tessera.dev.js';
const script = await readFile(new URL(scriptFile, import.meta.resolve('tessera-id/package.json')));

const server = createServer((request, response) => {
  if (request.url === '/token') {
    void tokens(request, response);
  } else if (request.url === '/tessera.js') {
    response.writeHead(200, { 'content-type': 'text/javascript' }).end(script);
  } else {
    const content = page.replace('%USER%', labelOf(emailOf(request.headers.cookie)));
    // A cache must not give the page of one user to another.
    const cache = { 'cache-control': 'private, no-store' };
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...cache }).end(content);
  }
});
server.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address();
  console.log(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : PORT}`);
});
