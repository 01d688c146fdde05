/**
 * CORS without cookies: pages on any origin may refresh, and may read every response, errors included (docs/protocol.md, "Server
 * behaviour"). Hono's middleware needs a Hono context, and a refresh does not go through its router.
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

/** For the answer to a preflight request; undefined for others. Only validate, for testers, allows an `Authorization` header. */
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
