/**
 * The server side of a page's `provide` or `data-provide`: generates a token set for the signed-in user, whom the host's `user`
 * identifies. `cross-site.ts` decides which pages may call it.
 */

import { kindOf, MAX_TIMER_MS, ownMembers, throwIf, typeFault } from '../../token/checks.ts';
import { expectedGot, isTokenError, TokenError } from '../../token/errors.ts';
import { answerOf, isInvalidDii } from '../call/endpoints.ts';
import { checkInteger, checkOptionNames, checkRequest } from '../checks.ts';
import type { Client } from '../client.ts';
import { type Dii, diiTypeFault, isWithoutValue } from '../dii.ts';
import { callerFault, checkOrigins, isAllowedCaller, preflightHeaders } from './cross-site.ts';

/** Options of `tokenHandler`. */
export interface TokenHandlerOptions<Context extends unknown[] = []> {
  /**
   * The client, of which only `generate` is used; or a function that creates it, called once, for the first signed-in user, so
   * that a build that loads the route (`next build`) needs no secrets. If it throws, `onError` is called, the response is 500,
   * and the next request tries again.
   */
  readonly client: Pick<Client, 'generate'> | (() => Pick<Client, 'generate'>);
  /**
   * Returns the DII of the signed-in user, or null if nobody is signed in. Read it from your own login session (a cookie, a
   * header), never from the body or the URL of the request, because anyone could then request another user's tokens.
   *
   * If the DII is invalid, or it or its value is missing, as after a forgotten `return`, the response is 204, as if nobody were
   * signed in, and `onError` receives a TokenError `client_error`. For anything other than DII, such as the address alone, it
   * receives one too, but the response is 500.
   * @param context  the further arguments of the handler, for example the context of a route or an environment.
   */
  readonly user: (request: Request, ...context: Context) => Dii | null | Promise<Dii | null>;
  /**
   * Other origins whose pages may call the handler and read the response (CORS, with credentials), compared as text, for example
   * `https://www.publisher.example`, or `capacitor://localhost` for pages in an app. Also the handler's own public origin, if a
   * proxy hides it and the browser sends no `Sec-Fetch-Site`. Default: none.
   */
  readonly origins?: readonly string[] | undefined;
  /**
   * Called with every failure, and with every rejected request (`client_error` with status 403 or 405 and the reason); the page
   * receives only the status. Failures of the client are TokenErrors. Default: `console.error`, one line without DII, at most one
   * a second.
   */
  readonly onError?: ((error: unknown, request: Request) => unknown) | undefined;
  /**
   * Returns the user's TCF consent string, for an EUID operator, from a cookie or a header that your CMP or your page sets; null,
   * undefined or an empty string sends none. If the operator finds the consent insufficient, the response is 204, as if nobody
   * were signed in, and `onError` receives a TokenError `no_consent`.
   */
  readonly tcfConsent?:
    | ((request: Request, ...context: Context) => string | null | undefined | Promise<string | null | undefined>)
    | undefined;
  /** Time limit of the request to the service, ms. Default: the client's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
}

const NAMES: Record<keyof TokenHandlerOptions, true> = {
  client: true,
  user: true,
  origins: true,
  onError: true,
  tcfConsent: true,
  timeoutMs: true,
};

/** The status for the page: 504 after a time-out, 503 if the service is busy, 502 for any other failure of the service. */
function statusFor({ code, status }: TokenError): number {
  return code === 'timeout' ? 504 : code === 'rate_limited' || status === 503 ? 503 : 502;
}

function reply(status: number, body?: unknown, headers?: Record<string, string>): Response {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  const init = ownMembers<ResponseInit>({ status, headers: { ...type, ...headers } });
  return new Response(body === undefined ? null : JSON.stringify(body), init);
}

function fail(status: number, headers?: Record<string, string>): Response {
  return reply(status, { status: 'error' }, headers);
}

/** 204 for what does not change before the data changes or the user consents: a session asks again after any other status. */
function failService(error: TokenError): Response {
  if (error.code === 'no_consent' || isInvalidDii(error)) return reply(204);
  const wait = error.retryAfterMs;
  const status = statusFor(error);
  return fail(status, status === 503 && wait !== undefined ? { 'retry-after': `${Math.ceil(wait / 1000)}` } : {});
}

const LINE_MS = 1000;

type HostFunction = 'user' | 'tcfConsent' | 'client' | 'client.generate';

/** Create the default of `onError`. What the host's code threw may contain DII, so only its class is printed. */
function createConsoleReporter() {
  let nextAt = 0;
  return (error: unknown, thrower: HostFunction | undefined): void => {
    const now = Date.now();
    if (now < nextAt) return;
    nextAt = now + LINE_MS;
    const thrown = `${thrower} failed with ${(error as Error | undefined)?.constructor?.name ?? typeof error}`;
    const reason = error instanceof TokenError ? error.message : `tokenHandler: ${thrown}; pass onError to see it`;
    console.error(`[tessera] ${reason}`);
  };
}

/** A listener that throws or rejects must affect neither the answer nor the process. */
function reporterOf(onError: TokenHandlerOptions['onError']) {
  const print = createConsoleReporter();
  return (error: unknown, request: Request, thrower?: HostFunction): void => {
    (async () => (onError ? onError(error, request) : print(error, thrower)))().catch(() => {});
  };
}

/** Create an error for `onError`. The default of that option prints its message, which therefore contains no DII. */
function handlerError(message: string, status?: number): TokenError {
  return new TokenError('client_error', `tokenHandler: ${message}`, { status });
}

function refuseReturned(fault: string | undefined): void {
  if (fault) throw handlerError(fault);
}

/** `dii`: undefined, or DII without a value. */
function withoutValue(dii: Dii | undefined): TokenError {
  const got = Object.entries(dii ?? {}).map(([key, value]) => `${key} as ${kindOf(value)}`);
  return handlerError(expectedGot('user', 'DII, or null if nobody is signed in', got.join(', ') || 'undefined'));
}

function clientFault(client: Pick<Client, 'generate'>): string | undefined {
  if (typeof client?.generate === 'function') return undefined;
  return expectedGot('client', 'a client from createClient, or a function that creates one', kindOf(client));
}

function onceCreated(given: TokenHandlerOptions['client']): () => Pick<Client, 'generate'> {
  if (typeof given !== 'function') {
    throwIf(clientFault(given));
    return () => given;
  }
  let client: Pick<Client, 'generate'> | undefined;
  return () => {
    if (client) return client;
    const created = given();
    refuseReturned(clientFault(created));
    client = created;
    return client;
  };
}

/**
 * Create the request handler of one URL, for example `/tessera/tokens`.
 *
 * | request | answer |
 * |---|---|
 * | `POST`, signed in | 200, `{ status: 'success', body }` or `{ status: 'optout' }` |
 * | `POST`, nobody signed in; no sufficient `tcfConsent`; no valid DII of this user | 204 |
 * | from a page on another origin that `origins` does not list | 403 |
 * | `OPTIONS` (preflight) from a page on one of `origins` | 204 |
 * | any other method | 405 |
 * | the host's `user` or `tcfConsent`, or its function `client`, failed or returned something else | 500 |
 * | the service failed | 502, 503 (with `Retry-After` where known), 504 |
 *
 * Every answer is `no-store`. Every failure has the body `{ "status": "error" }` and nothing else.
 * @throws {TypeError} for an invalid option; the message names it, what was expected and what was passed.
 * @example
 * // Hono, and every framework that passes a Request. Next.js: export const POST = tokens.
 * const tokens = tokenHandler({ client, user: async (request) => (await sessionOf(request))?.emailOfUser ?? null });
 * app.post('/tessera/tokens', (c) => tokens(c.req.raw));
 * @example
 * // Express, with `toNodeListener` of `tessera-id/server/node`.
 * app.use('/tessera/tokens', (req, res) => toNodeListener((request) => tokens(request, req.user))(req, res));
 */
export function tokenHandler<Context extends unknown[] = []>(
  options: TokenHandlerOptions<Context>,
): (request: Request, ...context: Context) => Promise<Response> {
  const own = checkOptionNames('options', NAMES, options);
  const { client, user, tcfConsent, onError, timeoutMs } = own;
  const clientOf = onceCreated(client);
  throwIf(typeFault('user', 'function', user));
  if (tcfConsent !== undefined) throwIf(typeFault('tcfConsent', 'function', tcfConsent));
  if (onError !== undefined) throwIf(typeFault('onError', 'function', onError));
  if (timeoutMs !== undefined) checkInteger('timeoutMs', timeoutMs, 1, MAX_TIMER_MS);
  const origins = checkOrigins(own.origins ?? []);
  const report = reporterOf(onError);

  const answer = async (request: Request, context: Context): Promise<Response> => {
    const refuse = (status: number, message: string, headers?: Record<string, string>) => {
      report(handlerError(message, status), request);
      return fail(status, headers);
    };

    const allowed = preflightHeaders(request, origins);
    if (allowed) return reply(204, undefined, allowed);
    if (request.method !== 'POST') return refuse(405, expectedGot('method', 'POST', request.method), { allow: 'POST' });
    if (!isAllowedCaller(request, origins)) return refuse(403, callerFault(request));
    let called: HostFunction = 'user';
    try {
      const dii = await user(request, ...context);
      if (dii === null) return reply(204);
      if (dii === undefined || isWithoutValue(dii)) {
        report(withoutValue(dii), request);
        return reply(204);
      }
      const fault = diiTypeFault(dii);
      refuseReturned(fault && `user: ${fault}`);
      called = 'tcfConsent';
      const consent = (await tcfConsent?.(request, ...context)) || undefined;
      if (consent !== undefined) refuseReturned(typeFault('tcfConsent', 'string', consent));
      called = 'client';
      const client = clientOf();
      called = 'client.generate';
      return reply(200, answerOf(await client.generate(dii, { timeoutMs, tcfConsent: consent })));
    } catch (error) {
      report(error, request, called);
      // The other functions may throw TokenErrors of their own, which do not come from the service.
      return called === 'client.generate' && isTokenError(error) ? failService(error) : fail(500);
    }
  };

  return async (request, ...context) => {
    checkRequest('tokenHandler: request', request);
    const response = await answer(request, context);
    response.headers.set('cache-control', 'no-store');
    if (origins.size === 0) return response;
    response.headers.set('vary', 'origin');
    const origin = request.headers.get('origin');
    if (origin && origins.has(origin)) {
      response.headers.set('access-control-allow-origin', origin);
      response.headers.set('access-control-allow-credentials', 'true');
    }
    return response;
  };
}
