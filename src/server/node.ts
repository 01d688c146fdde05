/** `tessera-id/server/node`: a handler from `Request` to `Response` in a server whose requests are those of `node:http`. */

/// <reference types="node" />

import type { IncomingMessage, ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { kindOf, throwIf } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';

/**
 * Convert a handler, such as that of `tokenHandler`, to a listener for `node:http`, Express, NestJS, Fastify or Koa, which
 * resolves when the response has been sent. It reads the body itself, so call it before anything that parses bodies. What a
 * handler throws goes to `console.error`, and the answer is 500. No global of the process is changed.
 * @throws {TypeError} for anything that is not a function, such as a client.
 * @example app.use('/token', toNodeListener(tokenHandler({ client, user })));
 */
export function toNodeListener(
  handler: (request: Request) => Response | Promise<Response>,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  throwIf(
    typeof handler !== 'function' &&
      expectedGot(
        'toNodeListener: handler',
        'function, such as tokenHandler({ client, user }) returns',
        kindOf(handler),
      ),
  );
  const answer = async (request: Request): Promise<Response> => {
    // The platform's Request refuses these methods, and a target with a user in it.
    if (/^(CONNECT|TRACE|TRACK)$/.test(request.method)) return new Response(null, { status: 405 });
    const { username, password } = new URL(request.url);
    if (username || password) return new Response(null, { status: 400 });
    try {
      // The package's own Request is not one to the platform: `new Request(request)` throws.
      return await handler(new Request(request.url, request));
    } catch (error) {
      console.error(error);
      return new Response(null, { status: 500 });
    }
  };
  // The name counts for requests without a Host header, which HTTP/1.0 permits.
  return getRequestListener(answer, { hostname: 'localhost', overrideGlobalObjects: false });
}
