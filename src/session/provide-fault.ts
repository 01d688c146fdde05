/**
 * Why `provide` failed: what it threw, or the status that its server returned.
 *
 * Messages contain only class and status: anything else in an error may be personal data.
 */

import { isDevelopment } from '../token/development.ts';
import { TokenError } from '../token/errors.ts';
import { type HeaderReader, retryAfterOf } from './retry-after.ts';
import { warn } from './warnings.ts';

/** A response of the publisher's server, or an object that looks like one. */
interface ServerAnswer {
  readonly status?: unknown;
  readonly headers?: HeaderReader | undefined;
}

/**
 * Describe what `provide` threw or rejected with. A TokenError is returned as it is.
 *
 * @example provideFault(new SyntaxError()).message // 'provide rejected with SyntaxError'
 */
export function provideFault(thrown: unknown): TokenError {
  if (thrown instanceof TokenError) return thrown;
  // The thrown value may be the response itself, or contain it.
  const { status: own, headers: ownHeaders, response } = Object(thrown) as ServerAnswer & { response?: ServerAnswer };
  const status = [own, response?.status].find((value): value is number => Number.isInteger(value));
  const headers = response?.headers ?? ownHeaders;
  const name = classOf(thrown);
  const what = `provide rejected with ${name}${status ? ` (status ${status})` : ''}`;
  if (isDevelopment && !status && isCodeFault(thrown)) {
    const message = `${what}; a bug in provide, or in what it calls: see the console`;
    warn(message, 'provide_failed', thrown);
    return new TokenError('provide_failed', message);
  }
  return failed(what, { status, headers }, name);
}

/**
 * Describe an error status of the publisher's server.
 *
 * @param request  what was asked: a method and a path without its query, as far as they are known.
 * @example responseFault('POST /token', response).message // 'provide: POST /token answered 404'
 */
export function responseFault(request: string, { status, headers }: Response): TokenError {
  return failed(`provide: ${request} answered ${status}`, { status, headers });
}

/**
 * Describe a missing answer of the publisher's server, after `fetch` rejected with a TypeError. For the development build.
 *
 * @param request  as for {@link responseFault}.
 */
export function unansweredFault(request: string): TokenError {
  return new TokenError(
    'provide_failed',
    `provide: ${request} got no answer: the network failed, the server is down, or CORS or CSP blocks the request`,
  );
}

/**
 * Describe an HTML page that arrived instead of JSON, usually a login page after a redirect. For the development build.
 *
 * @param request  as for {@link responseFault}.
 * @returns undefined for any other response.
 */
export function htmlFault(request: string, response: Response): TokenError | undefined {
  const { headers, status, redirected } = response;
  if (!headers?.get?.('content-type')?.includes('html')) return undefined;
  const where = redirected ? ` after a redirect to ${pathOf(response)}` : '';
  const remedy = 'if it is a login page, let the route answer 204 when nobody is signed in';
  return new TokenError(
    'provide_failed',
    `provide: ${request} answered ${status} with an HTML page${where}; ${remedy}`,
    {
      status,
    },
  );
}

/**
 * Tell whether a bug threw this value. The message decides, because `fetch` also throws a TypeError when the network fails.
 * Chromium, Firefox and Safari word these messages differently.
 */
export function isCodeFault(thrown: unknown): boolean {
  const { name, message } = Object(thrown) as Error;
  if (name === 'ReferenceError') return true;
  return name === 'TypeError' && CODE_MESSAGE.test(message);
}

const CODE_MESSAGE =
  /is not (a function|a constructor|an object|iterable|callable)|is (undefined|null)\b|of (undefined|null)\b|illegal invocation|can(not|'t) (read|set|access|convert|destructure)|parse url|invalid url/i;

/** The path of a response, without its query, which may name the user. */
export function pathOf({ url }: Response): string {
  // Not `URL.canParse`: Safari 16 and Chrome 94 lack it.
  return /^\w+:\/\/[^/?#]*([^?#]*)/.exec(url)?.[1] || 'the server';
}

function failed(
  what: string,
  { status, headers }: ServerAnswer & { status: number | undefined },
  name?: string,
): TokenError {
  const message = isDevelopment ? what + remedyFor(status ?? name) : what;
  if (isDevelopment && status && status in REFUSALS) warn(message, 'provide_failed');
  return new TokenError('provide_failed', message, { status, retryAfterMs: retryAfterOf(headers) });
}

/** The class of a thrown value, if it looks like one. */
export function classOf(thrown: unknown): string {
  const name = (thrown as object | null | undefined)?.constructor?.name ?? '';
  return /^[A-Z]\w{0,39}$/.test(name) ? name : typeof thrown;
}

/** Read a value that the page's code threw; undefined if reading it throws, as with a revoked proxy or a getter. */
export function readThrown<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Statuses with which a server rejects every request from this page. */
const REFUSALS: Record<number, string> = {
  403: 'tokenHandler rejects pages on other origins, unless its origins option lists them',
  404: 'the server has no route there',
  405: 'the route does not accept this method: tokenHandler accepts POST',
};

function remedyFor(fault: number | string | undefined): string {
  if (typeof fault === 'number' && fault in REFUSALS) return `; ${REFUSALS[fault]}`;
  if (typeof fault === 'number' && fault >= 500)
    return '; see the onError callback of tokenHandler or the log of the server';
  if (fault === 'SyntaxError') return '; the response may not be JSON: check response.ok before response.json()';
  if (fault === 'TypeError') return '; if fetch threw it, the network failed, or CORS or CSP blocks the request';
  return '';
}
