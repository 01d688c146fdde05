/**
 * Cross-origin rules: pages of any origin may refresh, and read every answer, also an error.
 *
 * No credentials: a page is no one to the operator. Only validate may be called with an API key from a page; it is a
 * tester's tool. Hono has a middleware for this, which makes an answer before there is one.
 *
 * @see shared wire facts 1.8, and 11 row 20
 */

const METHODS = 'GET,POST,OPTIONS';
const HEADERS = [
  'X-UID2-Client-Version',
  'Access-Control-Request-Method',
  'Access-Control-Allow-Credentials',
  'Access-Control-Allow-Origin',
  'Access-Control-Allow-Headers',
  'Content-Type',
].join(',');

/** Headers of every answer to a request. */
export function originHeaders({ headers }: Request): Record<string, string> {
  const origin = headers.get('origin');
  if (!origin) return { vary: 'Origin' };
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'Date, Retry-After',
  };
}

/**
 * Headers of the answer to a page that asks before it calls; undefined for any other request.
 *
 * @param withKey  whether the path may be called with an `Authorization` header from a page.
 */
export function preflightHeaders({ method, headers }: Request, withKey: boolean): Record<string, string> | undefined {
  if (method !== 'OPTIONS' || !headers.get('origin') || !headers.get('access-control-request-method')) return undefined;
  return {
    'access-control-allow-methods': METHODS,
    'access-control-allow-headers': withKey ? `${HEADERS},Authorization` : HEADERS,
  };
}
