/** `tessera-id/server/node`, over real HTTP. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createClient, tokenHandler } from '../../src/server/index.ts';
import { toNodeListener } from '../../src/server/node.ts';
import { opened, optionsFor, rejectionOf, SET, scriptedService } from './scripted-service.ts';

const serve = async (listener: (request: IncomingMessage, response: ServerResponse) => unknown) => {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}` };
};

test('a page gets its set through it: method, address, headers and status are those of the request and the response', async () => {
  const service = scriptedService(opened({ status: 'success', body: SET }));
  const client = createClient(optionsFor(service));
  const user = ({ headers }: Request) => (headers.get('cookie') === 'user=1' ? { email: 'user@example.com' } : null);
  const { url } = await serve(toNodeListener(tokenHandler({ client, user, onError: () => {} })));
  const post = (headers: HeadersInit) => fetch(`${url}/token`, { method: 'POST', headers });
  const answer = await post({ cookie: 'user=1' });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(await answer.json()).toEqual({ status: 'success', body: SET });
  expect((await post({})).status).toBe(204);
  expect((await post({ origin: 'https://other.example', 'sec-fetch-site': 'cross-site' })).status).toBe(403);
  expect((await fetch(`${url}/token`)).status).toBe(405);
});

test('the handler gets a Request with its body, and may answer later', async () => {
  const { url } = await serve(
    toNodeListener(async (given) => {
      // As libraries that wrap a handler do.
      const body = await new Request(given, { headers: {} }).text();
      return new Response(`${given instanceof Request} ${new URL(given.url).search} ${body}`, { status: 201 });
    }),
  );
  const answer = await fetch(`${url}/a?b=c`, { method: 'POST', body: 'a body' });
  expect(answer.status).toBe(201);
  expect(await answer.text()).toBe('true ?b=c a body');
});

test('a handler that throws is answered with 500 and reported, and a request without a Host header is answered', async () => {
  const report = vi.spyOn(console, 'error').mockImplementation(() => {});
  onTestFinished(() => report.mockRestore());
  const { url, port } = await serve(
    toNodeListener((given) => {
      if (given.method === 'POST') throw new Error('failed');
      return new Response(given.url);
    }),
  );
  expect((await fetch(url, { method: 'POST' })).status).toBe(500);
  expect(report.mock.calls).toEqual([[new Error('failed')]]);
  const socket = connect(port, '127.0.0.1', () => socket.write('GET /health HTTP/1.0\r\n\r\n'));
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 200[\s\S]*http:\/\/localhost\/health$/);
});

test('a target with a user in it is answered with 400, and nothing is reported', async () => {
  const report = vi.spyOn(console, 'error').mockImplementation(() => {});
  onTestFinished(() => report.mockRestore());
  const { port } = await serve(toNodeListener(() => new Response()));
  const socket = connect(port, '127.0.0.1', () =>
    socket.write('GET http://user:pass@host.example/token HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'),
  );
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400/);
  expect(report).not.toHaveBeenCalled();
});

test('no global of the process is changed', () => {
  const before = Object.getOwnPropertyDescriptors(globalThis);
  toNodeListener(() => new Response());
  expect(Object.getOwnPropertyDescriptors(globalThis)).toEqual(before);
});

test('a client is no handler, and a handler that Node calls by itself names toNodeListener', async () => {
  const client = createClient(optionsFor(scriptedService(opened({ status: 'success', body: SET }))));
  expect(() => toNodeListener(client as never)).toThrow(
    new TypeError(
      'toNodeListener: handler: expected function, such as tokenHandler({ client, user }) returns, got object',
    ),
  );
  let refused: Promise<unknown> | undefined;
  const tokens = tokenHandler({ client, user: () => null });
  const { url } = await serve((request, response) => {
    refused = rejectionOf(tokens(request as never));
    response.end();
  });
  await fetch(url, { method: 'POST' });
  expect(String(await refused)).toBe(
    'TypeError: tokenHandler: request: expected a Request, got a request of node:http: wrap the handler in toNodeListener of tessera-id/server/node',
  );
});
