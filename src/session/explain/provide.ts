/** Why `provide` failed. Messages contain only class and status: anything else in an error may be personal data. */

import { TokenError } from '../../token/errors.ts';
import { noteThrown } from './warnings.ts';

/** `status`: the HTTP status in what `provide` threw, if there is one. */
export function provideFault(thrown: unknown, status: number | undefined): string {
  if (returned.has(thrown as Response)) return answeredFault(requestOf(thrown as Response), status as number);
  const name = classOf(thrown);
  const what = `provide rejected with ${name}${status ? ` (status ${status})` : ''}`;
  if (!status && isCodeFault(thrown))
    return noteThrown(`${what}; a bug in provide, or in what it calls: see the console`, thrown);
  // The message of a parser may quote the response. That of a missing network says no more.
  const isOfPage = !status && thrown instanceof Error && !['SyntaxError', 'TypeError'].includes(name);
  return isOfPage ? noteThrown(`${what}; see the console`, thrown) : what + remedyFor(status ?? name);
}

/** `request`: a method and a path without its query, as far as they are known. */
function answeredFault(request: string, status: number): string {
  return `provide: ${request} answered ${status}${remedyFor(status)}`;
}

/** After `fetch` rejected with a TypeError. */
function unansweredFault(request: string): TokenError {
  return new TokenError(
    'provide_failed',
    `provide: ${request} got no answer: the network failed, the server is down, or CORS or CSP blocks the request`,
  );
}

/** Usually a login page after a redirect. Undefined for any other response. */
function htmlFault(request: string, response: Response): TokenError | undefined {
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
 * Whether a bug threw this. The message decides, because `fetch` also throws a TypeError when the network fails. Chromium,
 * Firefox and Safari word these messages differently.
 */
export function isCodeFault(thrown: unknown): boolean {
  const { name, message } = Object(thrown) as Error;
  if (name === 'ReferenceError') return true;
  return name === 'TypeError' && CODE_MESSAGE.test(message);
}

const CODE_MESSAGE =
  /is not (a function|a constructor|an object|iterable|callable)|is (undefined|null)\b|of (undefined|null)\b|illegal invocation|can(not|'t) (read|set|access|convert|destructure)|parse url|invalid url/i;

const requests = new WeakMap<Response, string>();

/** Note the request of the script tag's `data-provide`, and reject with what is wrong with its response. */
export async function provideRequest(url: string, asked: Promise<Response>): Promise<Response> {
  // A query may name the user.
  const request = `POST ${new URL(url).pathname}`;
  const response = await asked.catch((thrown: unknown) => {
    throw thrown instanceof TypeError ? unansweredFault(request) : thrown;
  });
  requests.set(response, request);
  checkProvided(response);
  return response;
}

const returned = new WeakSet<object>();

/** Reject an HTML page, such as a login page, that `provide` returned. */
export function checkProvided(given: unknown): void {
  const response = Object(given) as Response;
  returned.add(response);
  const fault = response.ok ? htmlFault(requestOf(response), response) : undefined;
  if (fault) throw fault;
}

/** The request of a response, as far as it is known: the path has no query, which may name the user. */
function requestOf(response: Response): string {
  return requests.get(response) ?? pathOf(response);
}

function pathOf({ url }: Response): string {
  // Not `URL.canParse`: Safari 16 and Chrome 94 lack it.
  return /^\w+:\/\/[^/?#]*([^?#]*)/.exec(url)?.[1] || 'the server';
}

/** The class of a thrown value, if it looks like one. */
export function classOf(thrown: unknown): string {
  const name = (thrown as object | null | undefined)?.constructor?.name ?? '';
  return /^[A-Z]\w{0,39}$/.test(name) ? name : typeof thrown;
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
