/**
 * `tessera-id/operator/node`: serves an operator over HTTP with Node.
 *
 * It is the only file of the operator that imports `node:`. It closes gracefully: it accepts no new connection, answers
 * the requests in progress, and closes idle connections.
 */

/// <reference types="node" />

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';

/** Options of {@link listen}. */
export interface ListenOptions {
  /** 0 for any free port. Default: 8080. */
  readonly port?: number;
  /** Default: `127.0.0.1`. */
  readonly host?: string;
  /** How long `close` waits for requests in progress before it closes their connections, ms. Default: 10,000. */
  readonly graceMs?: number;
}

/** A listening server. */
export interface Listening {
  /** `http://HOST:PORT`, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Stop listening and answer the requests in progress. Returns the same promise for every call. */
  close(): Promise<void>;
}

// Limits against slow clients: for the headers of a request, for all of it, and for idle connections.
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_MS = 65_000;
const SOCKET_IDLE_MS = 120_000;
const MAX_HEADER_BYTES = 16_384;

// The sockets on which no request is in progress. Node's `closeIdleConnections` skips connections that never carried a
// request; browsers open such connections in advance.
const trackIdleSockets = (server: Server, isClosing: () => boolean): ReadonlySet<Socket> => {
  const idle = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    idle.add(socket);
    socket.once('close', () => idle.delete(socket));
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    idle.delete(socket);
    response.once('close', () => {
      if (isClosing()) socket.destroySoon();
      else if (!socket.destroyed) idle.add(socket);
    });
  });
  return idle;
};

// Resolves with the port.
const start = (server: Server, port: number, host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });

const closeServer = (server: Server, idle: ReadonlySet<Socket>, graceMs: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close((error) => {
      clearTimeout(timer);
      error ? reject(error) : resolve();
    });
    for (const socket of idle) socket.destroy();
  });

/**
 * Serve an operator over HTTP.
 *
 * Hono's server replaces the global Request and Response of the process by lighter classes with the same interface.
 *
 * @param operator  anything with a `fetch` method; `createOperator` returns one.
 * @param options   port (default 8080), host (default 127.0.0.1), graceMs (default 10,000).
 * @returns         the server, after it has started to listen.
 * @throws {Error}  the error of Node, with its code: `EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`.
 * @example
 * const server = await listen(createOperator({ apiKey, clientSecret }), { port: 8080 });
 * console.log(`listening on ${server.url}`);
 * await server.close();
 */
export async function listen(
  operator: { fetch(request: Request): Promise<Response> },
  { port = 8080, host = '127.0.0.1', graceMs = 10_000 }: ListenOptions = {},
): Promise<Listening> {
  let closing: Promise<void> | undefined;
  const server = createAdaptorServer({
    fetch: async (request: Request) => {
      const response = await operator.fetch(request);
      // While closing, the connection must not stay open after its answer. After a body that is too large it cannot be
      // used again, because the unread rest of the body precedes the next request.
      if (closing || response.status === 413) response.headers.set('connection', 'close');
      return response;
    },
    serverOptions: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    },
  }) as Server;
  server.setTimeout(SOCKET_IDLE_MS);
  const idle = trackIdleSockets(server, () => closing !== undefined);
  const bound = await start(server, port, host);
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    close: () => (closing ??= closeServer(server, idle, graceMs)),
  };
}
