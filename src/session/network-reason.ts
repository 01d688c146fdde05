/** Why a request to the operator may have had no answer. A browser tells a page nothing: this is what the page can see. */

import { isBlocked } from './warnings.ts';

/**
 * Name the likely reason, for the message of an error of the development build.
 *
 * @example networkReason('https://operator.example')
 * // '; the service cannot be reached, or does not permit pages of https://www.example (CORS): see the console'
 */
export function networkReason(baseUrl: string): string {
  const { origin } = new URL(baseUrl);
  const page = globalThis.location;
  if (globalThis.navigator?.onLine === false) return '; this device is offline';
  if (isBlocked(baseUrl)) return `; the Content-Security-Policy of this page blocks it: add ${origin} to connect-src`;
  if (page?.protocol === 'https:' && origin.startsWith('http:'))
    return '; a browser blocks requests from an https page to http (mixed content)';
  const cors =
    page && page.origin !== origin ? `, or does not permit pages of ${page.origin} (CORS): see the console` : '';
  return `; the service cannot be reached${cors}`;
}
