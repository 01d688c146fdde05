/**
 * The other end of a page's `provide` and `data-provide`: a Request/Response function that says who is signed in,
 * generates a token set for that user, and answers it as JSON.
 *
 * It knows nothing of sessions and cookies: the host says who the user is. Which callers it lets in: `cross-site.ts`.
 */

import { isTokenError, type TokenError } from '../token/errors.ts';
import type { Client } from './client.ts';
import { checkOrigins, mayCall } from './cross-site.ts';
import type { Dii } from './dii.ts';
import { answerOf } from './endpoints.ts';

export interface TokenHandlerOptions<Context extends unknown[] = []> {
  /** Makes the token sets; only its `generate` is used. */
  readonly client: Pick<Client, 'generate'>;
  /**
   * Who is signed in: the DII of that user, or null for nobody. Read it from your own session (a cookie, a header),
   * never from the body or the address of the request: anyone could ask for anyone's tokens.
   *
   * @param context  whatever the handler was called with after the request: a route's context, an environment.
   */
  readonly user: (request: Request, ...context: Context) => Dii | null | undefined | Promise<Dii | null | undefined>;
  /**
   * Further origins whose pages may call, such as `https://www.publisher.example`: pages on another origin than this
   * handler's, or its own public origin where a proxy hides it and browsers are old or pages are plain http. Pages on
   * these origins may also read the answer (CORS, with credentials).
   */
  readonly origins?: readonly string[] | undefined;
  /** Hears what went wrong; the page is told nothing but the status. Errors of a client are TokenErrors. */
  readonly onError?: ((error: unknown, request: Request) => unknown) | undefined;
  /** Time for the service to answer, ms. Default: the client's. */
  readonly timeoutMs?: number | undefined;
}

// The status that a page is told: 504 too late, 503 come back later, 502 any other fault of the service.
const statusFor = ({ code, status }: TokenError): number =>
  code === 'timeout' ? 504 : code === 'rate_limited' || status === 503 ? 503 : 502;

/**
 * Make the handler of one address, such as `/tessera/tokens`.
 *
 * | request | answer |
 * |---|---|
 * | `POST`, signed in | 200, `{ status: 'success', body }` or `{ status: 'optout' }` |
 * | `POST`, nobody signed in | 204 |
 * | from a page of another site | 403 |
 * | any other method | 405 |
 * | the host's `user` failed | 500 |
 * | the service failed | 502, 503 (with `Retry-After` where known), 504 |
 *
 * Every answer is `no-store`; every refusal has the body `{ "status": "error" }` and no more.
 *
 * @throws {TypeError} a wrong option.
 * @example
 * // Hono, and anything else that calls with a Request. Next: export const POST = tokens.
 * const tokens = tokenHandler({ client, user: async (request) => (await sessionOf(request))?.emailOfUser ?? null });
 * app.post('/tessera/tokens', (c) => tokens(c.req.raw));
 * @example
 * // Express, through `getRequestListener` of @hono/node-server, which makes a Request of Node's.
 * app.use('/tessera/tokens', (req, res) => getRequestListener((request) => tokens(request, req.user))(req, res));
 */
export function tokenHandler<Context extends unknown[] = []>(
  options: TokenHandlerOptions<Context>,
): (request: Request, ...context: Context) => Promise<Response> {
  const { client, user, onError, timeoutMs } = options;
  if (typeof client?.generate !== 'function') throw new TypeError('client: expected a client, got none');
  if (typeof user !== 'function') throw new TypeError(`user: expected function, got ${typeof user}`);
  if (onError !== undefined && typeof onError !== 'function')
    throw new TypeError(`onError: expected function, got ${typeof onError}`);
  const origins = checkOrigins(options.origins ?? []);

  // A listener that throws or rejects must take neither the answer nor the process down with it.
  const report = (error: unknown, request: Request) => {
    (async () => onError?.(error, request))().catch(() => {});
  };

  const answer = async (request: Request, context: Context): Promise<Response> => {
    const reply = (status: number, body?: unknown, headers?: Record<string, string>) =>
      new Response(body === undefined ? null : JSON.stringify(body), {
        status,
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      });
    const refuse = (status: number, headers?: Record<string, string>) => reply(status, { status: 'error' }, headers);

    if (request.method !== 'POST') return refuse(405, { allow: 'POST' });
    if (!mayCall(request, origins)) return refuse(403);
    try {
      const dii = await user(request, ...context);
      if (dii === null || dii === undefined) return reply(204);
      return reply(200, answerOf(await client.generate(dii, { timeoutMs })));
    } catch (error) {
      report(error, request);
      if (!isTokenError(error)) return refuse(500);
      const wait = error.retryAfterMs;
      const status = statusFor(error);
      return refuse(status, status === 503 && wait !== undefined ? { 'retry-after': `${Math.ceil(wait / 1000)}` } : {});
    }
  };

  return async (request, ...context) => {
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
