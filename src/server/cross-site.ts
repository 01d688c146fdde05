/**
 * Whether a request may come from the page that it comes from: the guard of `handler.ts` against other sites that
 * would use a visitor's cookies.
 *
 * Callers that are no browser name no origin and are let in: they carry no visitor's cookies but their own.
 */

/**
 * Origins as browsers write them.
 *
 * @throws {TypeError} one that is not `scheme://host[:port]`.
 */
export function checkOrigins(origins: readonly string[]): ReadonlySet<string> {
  if (!Array.isArray(origins)) throw new TypeError(`origins: expected array, got ${typeof origins}`);
  for (const origin of origins) {
    let written: string | undefined;
    try {
      written = new URL(origin).origin;
    } catch {}
    if (written !== origin)
      throw new TypeError(`origins: expected each as 'https://host', without a path, got '${origin}'`);
  }
  return new Set(origins);
}

// A TLS proxy may speak plain http to this server: the same host under https is the same site.
const isOwn = (origin: string, address: string): boolean => {
  const own = new URL(address);
  return origin === own.origin || origin === `https://${own.host}`;
};

/**
 * Tell whether a page of this site, or of a configured origin, sent the request.
 *
 * `Sec-Fetch-Site` decides where a browser sends it (it needs https or loopback): pages cannot forge it, and it is
 * right behind any proxy. Older browsers and plain http leave `Origin`, compared with the address that this server sees.
 */
export function mayCall(request: Request, origins: ReadonlySet<string>): boolean {
  const origin = request.headers.get('origin');
  if (origin !== null && origins.has(origin)) return true;
  const site = request.headers.get('sec-fetch-site');
  if (site !== null) return site === 'same-origin' || (site === 'none' && origin === null);
  return origin === null || isOwn(origin, request.url);
}
