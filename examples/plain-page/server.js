// The publisher's server with nothing but Node: a page, the script file, and the token handler.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createClient, tokenHandler } from 'tessera-id/server';

const { TESSERA_BASE_URL = '', TESSERA_API_KEY = '', TESSERA_CLIENT_SECRET = '', PORT = '3000' } = process.env;

const tokens = tokenHandler({
  client: createClient({ baseUrl: TESSERA_BASE_URL, apiKey: TESSERA_API_KEY, clientSecret: TESSERA_CLIENT_SECRET }),
  // Who is signed in. Read it from your own login session, never from the body or the URL.
  user: (request) => {
    const [, user] = /(?:^|;\s*)user=([^;]+)/.exec(request.headers.get('cookie') ?? '') ?? [];
    return user ? { email: decodeURIComponent(user) } : null;
  },
  onError: (error) => console.error('token', error),
});

const page = (await readFile(new URL('index.html', import.meta.url), 'utf8')).replace('%BASE_URL%', TESSERA_BASE_URL);
const script = await readFile(new URL('dist/tessera.js', import.meta.resolve('tessera-id/package.json')));

const server = createServer(async ({ method, url, headers }, response) => {
  if (url === '/token') {
    // The handler needs method and headers; the request has no body.
    const request = new Request(`http://${headers.host}${url}`, {
      method,
      headers: Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
    });
    const answer = await tokens(request);
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  } else if (url === '/tessera.js') {
    response.writeHead(200, { 'content-type': 'text/javascript' }).end(script);
  } else {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page);
  }
});
server.listen(Number(PORT), '127.0.0.1', () => {
  const address = server.address();
  console.log(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : PORT}`);
});
