/**
 * `tessera-id/operator/node`: an operator behind a port of Node.
 *
 * The only file of this room that knows of Node. It closes gracefully: no new connection, requests under way
 * answered, then the connections that are left idle are let go.
 */

/// <reference types="node" />

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';

/** Where to listen, and for how long to wait. */
export interface ListenOptions {
  /** 0 for any free port. Default: 8080. */
  readonly port?: number;
  /** Default: `127.0.0.1`. */
  readonly host?: string;
  /** How long `close` waits for requests under way, ms, before it cuts them. Default: 10,000. */
  readonly graceMs?: number;
}

/** A listening operator. */
export interface Listening {
  /** `http://HOST:PORT`, without a slash at the end. */
  readonly url: string;
  readonly port: number;
  /** Stop: requests under way are answered first. The same promise for every call. */
  close(): Promise<void>;
}

// A request that is not all there by then is cut: headers, then all of it. An idle connection is kept for a while.
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_MS = 65_000;
const SOCKET_IDLE_MS = 120_000;
const MAX_HEADER_BYTES = 16_384;

/**
 * Put an operator behind a port.
 *
 * Hono's server puts lighter classes in the place of the process's Request and Response; they pass for the real ones.
 *
 * @throws the error of the port: in use (`EADDRINUSE`), not permitted (`EACCES`), no such address.
 */
export async function listen(
  operator: { fetch(request: Request): Promise<Response> },
  { port = 8080, host = '127.0.0.1', graceMs = 10_000 }: ListenOptions = {},
): Promise<Listening> {
  let closing: Promise<void> | undefined;
  const server = createAdaptorServer({
    fetch: async (request: Request) => {
      const response = await operator.fetch(request);
      // So that a connection under way ends with its answer, and does not idle on. After too long a body there is
      // nothing else to do with it: the rest of the body still stands before the next request.
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
  // Node's `closeIdleConnections` leaves those on which nothing was ever asked, and browsers open some in advance.
  const idle = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    idle.add(socket);
    socket.once('close', () => idle.delete(socket));
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    idle.delete(socket);
    response.once('close', () => {
      if (closing) socket.destroySoon();
      else if (!socket.destroyed) idle.add(socket);
    });
  });

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const bound = (server.address() as AddressInfo).port;

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    close: () => {
      closing ??= new Promise<void>((resolve, reject) => {
        const cut = setTimeout(() => server.closeAllConnections(), graceMs);
        server.close((error) => {
          clearTimeout(cut);
          error ? reject(error) : resolve();
        });
        for (const socket of idle) socket.destroy();
      });
      return closing;
    },
  };
}
