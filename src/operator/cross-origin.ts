/**
 * Cross-origin rules: pages of any origin may refresh, and read every answer, also an error.
 *
 * No credentials: a page is no one to the operator. Only validate may be called with an API key from a page; it is a
 * tester's tool. Hono's own middleware builds an answer before there is one; this one costs a tenth of that.
 *
 * @see shared wire facts 1.8, and 11 row 20
 */

import type { MiddlewareHandler } from 'hono';

const METHODS = 'GET,POST,OPTIONS';
const HEADERS = [
  'X-UID2-Client-Version',
  'Access-Control-Request-Method',
  'Access-Control-Allow-Credentials',
  'Access-Control-Allow-Origin',
  'Access-Control-Allow-Headers',
  'Content-Type',
].join(',');

/** Allow all origins. `withKey` names the paths that may be called with an `Authorization` header from a page. */
export const crossOrigin = (withKey: ReadonlySet<string>): MiddlewareHandler => {
  return async (c, next) => {
    const origin = c.req.header('origin');
    c.header('vary', 'Origin');
    if (origin) {
      c.header('access-control-allow-origin', origin);
      c.header('access-control-expose-headers', 'Date, Retry-After');
    }
    if (c.req.method !== 'OPTIONS' || !origin || !c.req.header('access-control-request-method')) return next();
    c.header('access-control-allow-methods', METHODS);
    c.header('access-control-allow-headers', withKey.has(c.req.path) ? `${HEADERS},Authorization` : HEADERS);
    return c.body(null, 204);
  };
};
