/**
 * Serves the world at the operator's address. Unlike `tessera-id/operator/node`, it can cut a connection, like a network that is
 * offline, and it keeps no connection open, so that a browser repeats no request on its own.
 */

import type { AddressInfo } from 'node:net';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { isLoopback } from '../src/token/checks.ts';
import type { World } from './world.ts';

export interface Served {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serve `fetch` on loopback.
 *
 * @param port     0 for any free port.
 * @param isFixed  fail if the port is in use; otherwise, any free port is used then.
 * @throws {Error} Node's error, if the port cannot be opened.
 */
export async function serve(
  fetch: (request: Request, bindings: HttpBindings) => Response | Promise<Response>,
  port: number,
  isFixed: boolean,
): Promise<Served> {
  const server = createAdaptorServer({
    // The name of any site may resolve to this machine, and its pages could then read those of the demo.
    fetch: (request, bindings) =>
      isLoopback(new URL(request.url).hostname)
        ? fetch(request, bindings as HttpBindings)
        : new Response('Host: expected localhost or 127.0.0.1, got another name\n', { status: 421 }),
  });
  const bind = (wanted: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(wanted, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  await bind(port).catch((error: NodeJS.ErrnoException) => {
    if (isFixed || error.code !== 'EADDRINUSE') throw error;
    return bind(0);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        // The event stream of an open page never ends on its own.
        if ('closeAllConnections' in server) server.closeAllConnections();
      }),
  };
}

/** Serve the world at the operator's address. If the port is in use, any free port is used. */
export function serveOperator(world: World, port: number): Promise<Served> {
  return serve(
    async (request, { incoming }) => {
      const response = await world.fetch(request, () => incoming.socket.resetAndDestroy());
      response.headers.set('connection', 'close');
      // The page corrects its clock by this header.
      response.headers.set('date', new Date(world.now()).toUTCString());
      return response;
    },
    port,
    false,
  );
}
