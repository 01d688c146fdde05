/** Explains why a request to the operator failed, as far as a browser lets the page see. */

import { kindOf } from '../../token/checks.ts';
import { type ErrorCode, ignoreFailure, TokenError } from '../../token/errors.ts';
import { classOf, isCodeFault } from './provide.ts';
import { isBlocked, noteThrown } from './warnings.ts';

function missingAnswer(baseUrl: string): string {
  return `refresh: no answer to POST ${baseUrl}/v2/token/refresh`;
}

/** The page's own `fetch` may resolve with something else than a Response. */
export function checkResponse(baseUrl: string, response: unknown): void {
  const { headers, text } = Object(response) as Partial<Response>;
  if (typeof headers?.get === 'function' && typeof text === 'function') return;
  const fault = `the fetch of this page resolved with ${kindOf(response)}, expected a Response`;
  throw new TokenError('network', `${missingAnswer(baseUrl)}; ${fault}`);
}

/** `thrown`: what `fetch` rejected with. If the page's own code is at fault, the console shows it. */
export function noAnswerReason(baseUrl: string, thrown: unknown): string {
  const what = missingAnswer(baseUrl);
  const own = ignoreFailure(() => ownFault(thrown));
  return own ? noteThrown(`${what}; ${own}: see the console`, thrown) : what + networkReason(baseUrl);
}

/** Without a remedy if that is only the session's next attempt. */
export function statusFault(status: number, baseUrl: string): string {
  const what = `refresh: POST /v2/token/refresh answered ${status}`;
  if (status === 404 || status === 405 || status === 410)
    return `${what}; there is no operator at ${baseUrl}: baseUrl has a wrong path, or leads to another service`;
  const isProxy = status === 401 || status === 403;
  return isProxy ? `${what}; a proxy or a firewall in front of ${baseUrl} rejects the request` : what;
}

export function unopenedFault(code: ErrorCode, text: string, baseUrl: string): string {
  if (code === 'decrypt_failed') return 'refresh: the answer does not open under the key of the set sent';
  const what = 'refresh: the answer is not a sealed token set or opt-out';
  const start = text.trimStart()[0];
  if (start === '<')
    return `${what}, but an HTML page: ${baseUrl} leads to another service, or a login page, a proxy or a captive portal responds in its place`;
  if (start === '{' || start === '[')
    return `${what}, but plain JSON: ${baseUrl} leads to another service, or to a test double`;
  return start ? what : `${what}, but empty`;
}

function networkReason(baseUrl: string): string {
  const { origin } = new URL(baseUrl);
  const page = globalThis.location;
  if (globalThis.navigator?.onLine === false) return '; this device is offline';
  if (isBlocked(baseUrl)) return `; this page's Content Security Policy blocks it: add ${origin} to connect-src`;
  if (page?.protocol === 'https:' && origin.startsWith('http:'))
    return '; browsers block requests from an https page to http (mixed content)';
  if (page?.protocol === 'file:' || page?.origin === 'null')
    return '; the service cannot be reached, or it does not permit a page without an origin, such as a file (CORS): serve the page from http://localhost';
  // Chromium reports a policy violation only after the request has failed, so the first failure cannot name it.
  const isOther = page && page.origin !== origin;
  const policies = `, or it does not permit pages on ${page?.origin} (CORS), or this page's Content Security Policy blocks it`;
  return `; the service cannot be reached${isOther ? `${policies}: see the console` : ''}`;
}

/** A browser's `fetch` rejects with a TypeError when the network fails. Anything else comes from the page's code. */
function ownFault(thrown: unknown): string | undefined {
  const { name } = Object(thrown) as { name?: unknown };
  if (name === 'TypeError' && !isCodeFault(thrown)) return undefined;
  return `the fetch of this page threw ${thrown instanceof DOMException ? name : classOf(thrown)}, which is not a network failure`;
}
