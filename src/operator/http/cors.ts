/**
 * CORS: pages on any origin may refresh, and may read every response, errors included.
 *
 * Cookies are never accepted. Only validate, which serves testers, allows an `Authorization` header from a page. Hono's CORS
 * middleware is not used because it needs a Hono context, and a refresh does not go through Hono's router.
 *
 * @see docs/protocol.md, "Server behaviour"
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

export function corsHeaders({ headers }: Request): Record<string, string> {
  const origin = headers.get('origin');
  if (!origin) return { vary: 'Origin' };
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'Date, Retry-After',
  };
}

/**
 * Return the additional headers of the answer to a preflight request; undefined for any other request.
 *
 * @param allowAuthorization  whether pages may send an `Authorization` header to the path.
 */
export function preflightHeaders(
  { method, headers }: Request,
  allowAuthorization: boolean,
): Record<string, string> | undefined {
  if (method !== 'OPTIONS' || !headers.get('origin') || !headers.get('access-control-request-method')) return undefined;
  return {
    'access-control-allow-methods': METHODS,
    'access-control-allow-headers': allowAuthorization ? `${HEADERS},Authorization` : HEADERS,
  };
}
