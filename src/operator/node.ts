/** `tessera-id/operator/node`: serves an operator over HTTP with Node. */

/// <reference types="node" />

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { expectedGot } from '../token/errors.ts';
import { type Caller, withoutPort } from './http/caller-limits.ts';
import { closeServer, ignoreUpgrades, sentWithin, trackSockets } from './http/node-sockets.ts';
import { createRequestBatches } from './http/request-batches.ts';
import { integer } from './options/checks.ts';

/** Options of {@link listen}. */
export interface ListenOptions {
  /** 0 for any free port. Default: 8080. */
  readonly port?: number;
  /** Default: `127.0.0.1`. */
  readonly host?: string;
  /** How long `close` waits for requests in progress before it closes their connections, ms. Default: 10,000. */
  readonly graceMs?: number;
  /** Maximum number of connections; further ones are closed at once. Default: 10,000. */
  readonly maxConnections?: number;
  /** Time from the start of a request to the end of its headers, ms. Default: 10,000. */
  readonly headersTimeoutMs?: number;
  /** Time from the start of a request to the end of its body, ms. Default: 30,000. */
  readonly requestTimeoutMs?: number;
  /**
   * Read a client's address from the last entry of `X-Forwarded-For`, which the proxy in front adds. Set this only if every
   * request comes through that proxy, because other callers could claim any address. Default: false.
   */
  readonly trustProxy?: boolean;
  /**
   * Replace the global Request and Response of this process, for good, with the lighter classes of Hono's server, which save time
   * for each request. Answers of `fetch` are then no instances of the global Response. Default: false.
   */
  readonly replaceGlobals?: boolean;
}

/** A listening server. */
export interface Listening {
  /** `http://HOST:PORT`, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** Stop listening and answer the requests in progress. Returns the same promise for every call. */
  close(): Promise<void>;
}

/** Limits against slow clients. Node checks the time-outs of headers and requests at this interval. */
const MAX_CHECK_INTERVAL_MS = 1000;
const KEEP_ALIVE_MS = 65_000;
const SOCKET_IDLE_MS = 120_000;
const MAX_HEADER_BYTES = 16_384;
const MAX_TIMEOUT_MS = 3_600_000;
const MAX_CONNECTIONS = 1_000_000;

/** A connection that the client has reset has no address. Such requests share one address, so that they cannot escape the limit. */
const RESET = 'reset';

function addressOf(incoming: HttpBindings['incoming'], trustProxy: boolean): string {
  const forwarded = trustProxy ? incoming.headers['x-forwarded-for'] : undefined;
  return withoutPort(`${forwarded ?? ''}`.split(',').at(-1)!.trim()) || (incoming.socket.remoteAddress ?? RESET);
}

async function start(server: Server, port: number, host: string): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/**
 * Serve an operator, or anything else with a `fetch` method, over HTTP. Resolves when the server listens.
 *
 * @throws {RangeError}  for an option out of its range.
 * @throws {Error}  Node's error, with its code: `EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`.
 * @example
 * const server = await listen(createOperator({ apiKey, clientSecret }), { port: 8080 });
 * console.log(`listening on ${server.url}`);
 * await server.close();
 */
export async function listen(
  operator: { fetch(request: Request, caller: Caller): Promise<Response> },
  options: ListenOptions = {},
): Promise<Listening> {
  const { port = 8080, host = '127.0.0.1', trustProxy = false, replaceGlobals = false } = options;
  // Node would listen on every address, for example because a variable in a start script is not set.
  if (host === '') throw new RangeError(expectedGot('host', 'an address', 'an empty string'));
  // Node's timers treat a time above 2^31 - 1 ms as 1 ms.
  const graceMs = integer('graceMs', options.graceMs ?? 10_000, 0, MAX_TIMEOUT_MS);
  const headersTimeout = integer('headersTimeoutMs', options.headersTimeoutMs ?? 10_000, 1, MAX_TIMEOUT_MS);
  const requestTimeout = integer('requestTimeoutMs', options.requestTimeoutMs ?? 30_000, 1, MAX_TIMEOUT_MS);
  const joinBatch = createRequestBatches(setImmediate);
  let closing: Promise<void> | undefined;
  const server = createAdaptorServer({
    fetch: async (request: Request, bindings) => {
      await joinBatch();
      const { incoming, outgoing } = bindings as HttpBindings;
      const response = await operator.fetch(request, {
        address: addressOf(incoming, trustProxy),
        sentWithin: (ms) => sentWithin(outgoing, incoming.socket, ms),
      });
      // Once the port is closed, a connection must not stay open after its last answer. A connection that is closed before would be
      // replaced by a new one to the same port. After a body that is too large, a connection stays open: Hono's server reads up to
      // 64 MB more of it for 0.5 s, because a proxy that cannot send the rest of a body may answer 502 instead of 413.
      if (!server.listening && sockets.isNewest(incoming)) response.headers.set('connection', 'close');
      return response;
    },
    overrideGlobalObjects: replaceGlobals,
    // For requests without a Host header, which HTTP/1.0 permits, such as health checks of load balancers.
    hostname: 'localhost',
    serverOptions: {
      // Node rejects a headers timeout above the request timeout.
      headersTimeout: Math.min(headersTimeout, requestTimeout),
      requestTimeout,
      connectionsCheckingInterval: Math.min(MAX_CHECK_INTERVAL_MS, headersTimeout, requestTimeout),
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      requireHostHeader: false,
    },
  }) as Server;
  server.maxConnections = integer('maxConnections', options.maxConnections ?? 10_000, 1, MAX_CONNECTIONS);
  server.setTimeout(SOCKET_IDLE_MS);
  const sockets = trackSockets(server);
  ignoreUpgrades(server, sockets);
  const bound = await start(server, port, host);
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    close: () => (closing ??= closeServer(server, sockets, graceMs)),
  };
}
