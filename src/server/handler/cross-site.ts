/**
 * Protects the handlers against requests from pages on other origins, which could carry the visitor's cookies. Callers other than
 * browsers send no `Origin`, and are allowed: they have no such cookies.
 */

import { escapeControls, kindOf } from '../../token/checks.ts';
import { expectedGot } from '../../token/errors.ts';

/** As browsers write it. `URL.origin` is `null` for the schemes of apps, such as `capacitor://localhost`. */
function originOf(address: string): string | undefined {
  try {
    const { protocol, host } = new URL(address);
    return host && `${protocol}//${host}`;
  } catch {
    return undefined;
  }
}

/**
 * @throws {TypeError} if one is not written as browsers write it: `scheme://host[:port]`. `null` and `file://` have no host: any
 *   sandboxed frame sends the one, and any local file may send the other.
 */
export function checkOrigins(origins: readonly string[]): ReadonlySet<string> {
  if (!Array.isArray(origins)) throw new TypeError(expectedGot('origins', 'array', kindOf(origins)));
  for (const origin of origins) {
    // `origin` is also undefined if an environment variable is not set. Browsers send no asterisk: a pattern would match no page.
    if (typeof origin !== 'string' || originOf(origin) !== origin || origin.includes('*')) {
      const got = typeof origin === 'string' ? `'${origin}'` : kindOf(origin);
      throw new TypeError(expectedGot('origins', "each as 'scheme://host', without a path", got));
    }
  }
  return new Set(origins);
}

/** Behind a proxy that terminates TLS, this server sees http although the page is on https. */
function isOwn(origin: string, address: string): boolean {
  const own = new URL(address);
  return origin === own.origin || origin === `https://${own.host}`;
}

/**
 * Whether a page on this origin or a configured one, the visitor's browser itself, or no browser sent the request. Browsers send
 * `Sec-Fetch-Site` to https and loopback addresses. Pages cannot forge it, and no proxy makes it wrong. If it is missing (older
 * browsers, plain http), `Origin` is compared with the address that this server sees.
 */
export function isAllowedCaller(request: Request, origins: ReadonlySet<string>): boolean {
  const origin = request.headers.get('origin');
  if (origin !== null && origins.has(origin)) return true;
  const site = request.headers.get('sec-fetch-site');
  if (site !== null) return site === 'same-origin' || (site === 'none' && origin === null);
  return origin === null || isOwn(origin, request.url);
}

/**
 * The headers that answer the preflight of a page on one of `origins`; undefined for any other request. Browsers send a preflight
 * if the page's request has a custom header, for example with the consent string.
 */
export function preflightHeaders(
  { method, headers }: Request,
  origins: ReadonlySet<string>,
): Record<string, string> | undefined {
  const origin = headers.get('origin');
  if (method !== 'OPTIONS' || origin === null || !origins.has(origin)) return undefined;
  const requested = headers.get('access-control-request-headers');
  return { 'access-control-allow-methods': 'POST', ...(requested && { 'access-control-allow-headers': requested }) };
}

/** The longest origin that is quoted: a host name has at most 253 characters. */
const MAX_QUOTED = 300;

export function callerFault({ url, headers }: Request): string {
  const origin = headers.get('origin')?.slice(0, MAX_QUOTED) ?? 'a page that sends no Origin';
  const site = headers.get('sec-fetch-site')?.slice(0, MAX_QUOTED);
  const expected = `a page on ${new URL(url).origin}, or on an origin in the origins option`;
  return expectedGot('caller', expected, escapeControls(`${origin}${site ? ` (Sec-Fetch-Site: ${site})` : ''}`));
}
