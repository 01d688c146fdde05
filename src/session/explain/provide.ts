/** Why `provide` failed. Messages contain only class and status: anything else in an error may be personal data. */

import { TokenError } from '../../token/errors.ts';
import { noteThrown } from './warnings.ts';

/** `status`: the HTTP status in what `provide` threw, if there is one. */
export function provideFault(thrown: unknown, status: number | undefined): string {
  if (returned.has(thrown as Response))
    return `provide: ${requestOf(thrown as Response)} answered ${status}${remedyFor(status)}`;
  const name = classOf(thrown);
  const what = `provide rejected with ${name}${status ? ` (status ${status})` : ''}`;
  if (!status && isCodeFault(thrown))
    return noteThrown(`${what}; a bug in provide, or in what it calls: see the console`, thrown);
  // Neither the message of a parser, which may quote the response, nor that of `fetch`, which names no cause.
  const isOfPage = !status && thrown instanceof Error && !['SyntaxError', 'TypeError'].includes(name);
  return isOfPage ? noteThrown(`${what}; see the console`, thrown) : what + remedyFor(status ?? name);
}

/** Whether a bug threw this. By the message, which each browser words differently: `fetch` too throws a TypeError, for the network. */
export function isCodeFault(thrown: unknown): boolean {
  const { name, message } = Object(thrown) as Error;
  if (name === 'ReferenceError') return true;
  return name === 'TypeError' && CODE_MESSAGE.test(message);
}

const CODE_MESSAGE =
  /is not (a function|a constructor|an object|iterable|callable)|is (undefined|null)\b|of (undefined|null)\b|illegal invocation|can(not|'t) (read|set|access|convert|destructure)|parse url|invalid url/i;

const requests = new WeakMap<Response, string>();

/** For the script tag's `data-provide`. Rejects with what is wrong with the response. */
export async function checkProvideResponse(url: string, asked: Promise<Response>): Promise<Response> {
  // A query may name the user.
  const request = `POST ${new URL(url).pathname}`;
  const response = await asked.catch((thrown: unknown) => {
    if (!(thrown instanceof TypeError)) throw thrown;
    const causes = 'the network failed, the server is down, or CORS or CSP blocks the request';
    throw new TokenError('provide_failed', `provide: ${request} got no answer: ${causes}`);
  });
  requests.set(response, request);
  checkProvided(response);
  return response;
}

const returned = new WeakSet<object>();

/** Throw if `provide` has returned an HTML page: usually a login page after a redirect. */
export function checkProvided(given: unknown): void {
  const response = Object(given) as Response;
  returned.add(response);
  const { ok, headers, status, redirected } = response;
  if (!ok || !headers?.get?.('content-type')?.includes('html')) return;
  const where = redirected ? ` after a redirect to ${pathOf(response)}` : '';
  const what = `provide: ${requestOf(response)} answered ${status} with an HTML page${where}`;
  const remedy = 'if it is a login page, let the route answer 204 when nobody is signed in';
  throw new TokenError('provide_failed', `${what}; ${remedy}`, { status });
}

function requestOf(response: Response): string {
  return requests.get(response) ?? pathOf(response);
}

function pathOf({ url }: Response): string {
  // Not `URL.canParse`: Safari 16 and Chrome 94 lack it.
  return /^\w+:\/\/[^/?#]*([^?#]*)/.exec(url)?.[1] || 'the server';
}

export function classOf(thrown: unknown): string {
  const name = (thrown as object | null | undefined)?.constructor?.name ?? '';
  return /^[A-Z]\w{0,39}$/.test(name) ? name : typeof thrown;
}

/** By status, of a server that rejects every request from this page, or by class of an error. */
const REMEDIES: Readonly<Record<string, string>> = {
  403: 'tokenHandler rejects pages on other origins, unless its origins option lists them',
  404: 'the server has no route there',
  405: 'the route does not accept this method: tokenHandler accepts POST',
  SyntaxError: 'the response may not be JSON: check response.ok before response.json()',
  TypeError: 'if fetch threw it, the network failed, or CORS or CSP blocks the request',
};

function remedyFor(fault: number | string | undefined): string {
  if (Number(fault) >= 500) return '; see the onError callback of tokenHandler or the log of the server';
  const remedy = REMEDIES[`${fault}`];
  return remedy ? `; ${remedy}` : '';
}
