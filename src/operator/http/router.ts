/**
 * The operator as a function from Request to Response: routing, CORS, counting, logging.
 *
 * The order of one request: CORS, body read and limited, API key and role, envelope, endpoint, sealed answer.
 */

import { Hono } from 'hono';
import { isTokenError } from '../../token/index.ts';
import { sealer } from '../crypto/aes-gcm.ts';
import { textBytes } from '../crypto/node-builtins.ts';
import { REFRESH_PATH, refresh } from '../endpoints/refresh.ts';
import { ENDPOINTS } from '../endpoints/sealed-endpoints.ts';
import { validate } from '../endpoints/validate.ts';
import type { Service } from '../service.ts';
import { originHeaders, preflightHeaders } from './cors.ts';
import { readBody } from './request-body.ts';
import type { Exchange } from './response.ts';
import { isBinary, plainAnswer, sealedAnswer, tooLong } from './response.ts';
import { sealedRoute } from './sealed-route.ts';

/** What the router takes along. */
interface Along {
  Bindings: Exchange;
}

/**
 * The path of a request, without its query. Bases are concatenated with paths by real clients: a trailing slash of
 * theirs makes two. The address of a Request always is a whole and normal one.
 */
const pathOf = ({ url }: Request): string => {
  let start = url.indexOf('/', url.indexOf('//') + 2);
  while (url[start + 1] === '/') start++;
  const end = url.slice(start).search(/[?#]/);
  return url.slice(start, end < 0 ? undefined : start + end);
};

const refreshRoute =
  (service: Service) =>
  async (exchange: Exchange): Promise<Response> => {
    const body = await readBody(exchange.request);
    if (!body) return tooLong(exchange);
    const { reply, key } = await refresh(body, service.settings.now(), service);
    if (!key) return plainAnswer(exchange, reply);
    exchange.status = reply.json.status;
    const sealed = await sealer.seal(key, textBytes(JSON.stringify(reply.json)));
    return sealedAnswer(exchange, sealed, isBinary(exchange.request));
  };

// What a request may call itself is any word; only these are written down.
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const HEALTH_PATH = '/ops/healthcheck';
const METRICS_PATH = '/metrics';
const READ_PATHS = [HEALTH_PATH, METRICS_PATH];
const PATHS = new Set([...ENDPOINTS.map(({ path }) => path), REFRESH_PATH, ...READ_PATHS]);
const TRACE = 'x-amzn-trace-id';

/** Everything but a refresh, by path and method. */
const routerOf = (service: Service): Hono<Along> => {
  const app = new Hono<Along>({ getPath: pathOf });
  for (const endpoint of ENDPOINTS) {
    const answer = sealedRoute(endpoint, service);
    app.post(endpoint.path, ({ env }) => answer(env));
  }
  app.get(HEALTH_PATH, async (c) => {
    try {
      await service.state.check?.();
      return c.text('OK', 200, c.env.headers);
    } catch {
      return c.text('database cannot be reached', 503, c.env.headers);
    }
  });
  app.get(METRICS_PATH, async (c) =>
    c.body(await service.metrics.text(), 200, { ...c.env.headers, 'content-type': service.metrics.contentType }),
  );
  for (const path of PATHS)
    app.all(path, (c) => c.body(null, 405, { ...c.env.headers, allow: READ_PATHS.includes(path) ? 'GET' : 'POST' }));
  app.notFound((c) => c.html('<html><body><h1>Resource not found</h1></body></html>', 404, c.env.headers));
  // Failures are answered below, with those of a refresh.
  app.onError((error) => {
    throw error;
  });
  return app;
};

/** The answers of a service. The function never rejects. */
export function routesOf(service: Service): (request: Request) => Promise<Response> {
  const { metrics } = service;
  const { logger } = service.settings;
  const router = routerOf(service);
  const refreshAnswer = refreshRoute(service);

  const answerOf = async (exchange: Exchange, path: string): Promise<Response> => {
    const { request, headers } = exchange;
    const preflight = preflightHeaders(request, path === validate.path);
    if (preflight) return new Response(null, { status: 204, headers: { ...headers, ...preflight } });
    try {
      // Every open page asks for this one, again and again: it goes by the shortest way.
      if (path === REFRESH_PATH && request.method === 'POST') return await refreshAnswer(exchange);
      return await router.fetch(request, exchange);
    } catch (error) {
      // Of others the name only: a message may quote what it choked on. Ours never do.
      const name = error instanceof Error ? error.name : typeof error;
      logger?.error({ error: name, ...(isTokenError(error) && { reason: error.message }) }, 'unexpected failure');
      return plainAnswer(exchange, { http: 500, json: { status: 'unknown', message: 'Unknown error' } });
    }
  };

  return async (request) => {
    const startedAt = performance.now();
    const path = pathOf(request);
    const headers = originHeaders(request);
    const trace = request.headers.get(TRACE);
    if (trace) headers[TRACE] = trace;
    const exchange = { request, headers, status: '' };
    const response = await answerOf(exchange, path);
    const answered = {
      method: METHODS.includes(request.method) ? request.method : 'other',
      // The route, never the address as it came: a path or a query may hold anything.
      path: PATHS.has(path) ? path : 'other',
      http: response.status,
      status: exchange.status,
      seconds: (performance.now() - startedAt) / 1000,
    };
    metrics.answered(answered);
    logger?.info(answered, 'answered');
    return response;
  };
}
