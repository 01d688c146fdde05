/** The operator as a function from Request to Response: routing, CORS, metrics, log; and a refresh, before the router. */

import { Hono } from 'hono';
import { isTokenError } from '../../token/index.ts';
import { aesGcm } from '../crypto/aes-gcm.ts';
import { utf8Bytes } from '../crypto/node-builtins.ts';
import { REFRESH_PATH, refresh } from '../endpoints/refresh.ts';
import { SEALED_ENDPOINTS } from '../endpoints/sealed-endpoints.ts';
import { validate } from '../endpoints/validate.ts';
import { createOutageLog, failureFields } from '../ports/logger.ts';
import type { MetricsText } from '../ports/metrics.ts';
import type { Service } from '../service.ts';
import type { Caller } from './caller-limits.ts';
import { corsHeaders, preflightHeaders } from './cors.ts';
import { createHealthCheck } from './health.ts';
import { CallerGone } from './large-requests.ts';
import { createLimits, type Limits } from './limits.ts';
import { MAX_REFRESH_BYTES, readBody } from './request-body.ts';
import {
  bodyTooLarge,
  type Exchange,
  isBinary,
  plainResponse,
  rateLimited,
  sealedResponse,
  unavailable,
} from './response.ts';
import { rememberEnvelope, sealedRoute } from './sealed-route.ts';

/** Hono passes its bindings to the route handlers as `c.env`. */
interface RouterEnv {
  Bindings: Exchange;
}

/** Any string can be a method, but the log and metrics contain only these. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** Answers 200 if the operator can reach its state, otherwise 503. */
export const HEALTH_PATH = '/ops/healthcheck';
const METRICS_PATH = '/metrics';
const GET_PATHS = [HEALTH_PATH, METRICS_PATH];
const PATHS = new Set([...SEALED_ENDPOINTS.map(({ path }) => path), REFRESH_PATH, ...GET_PATHS]);
/** Error codes of a database that cannot be reached, or that is closed because the process stops. */
const STATE_CODES = ['storage_failed', 'closed'];
/** As some proxies log it. Nobody reads this answer. */
const GONE = { httpStatus: 499, json: { status: 'client_error', message: 'The caller has closed the connection' } };
const TRACE_HEADER = 'x-amzn-trace-id';

/** Without the query. `Request.url` is absolute and normalised; with a base URL that ends with a slash, clients send two. */
export function pathOf({ url }: Pick<Request, 'url'>): string {
  let start = url.indexOf('/', url.indexOf('//') + 2);
  while (url[start + 1] === '/') start++;
  const end = url.slice(start).search(/[?#]/);
  return url.slice(start, end < 0 ? undefined : start + end);
}

function refreshRoute(service: Service, { anonymous }: Limits) {
  return async (exchange: Exchange): Promise<Response> => {
    const waitMs = anonymous?.take(exchange.caller.address);
    if (waitMs !== undefined) return rateLimited(exchange, waitMs);
    const body = await readBody(exchange.request, MAX_REFRESH_BYTES);
    if (!body) return bodyTooLarge(exchange);
    const { result, responseKey } = await refresh(body, service.settings.now(), service);
    if (!responseKey) return plainResponse(exchange, result);
    exchange.status = result.json.status;
    const sealed = await aesGcm.seal(responseKey, utf8Bytes(JSON.stringify(result.json)));
    return sealedResponse(exchange, sealed, isBinary(exchange.request));
  };
}

/** A known route, never the path as received, which may contain anything. */
function routeOf(path: string): string {
  return PATHS.has(path) ? path : 'other';
}

function metricsResponse({ text, contentType }: MetricsText, headers: Record<string, string>): Response {
  return new Response(text, { headers: { ...headers, 'content-type': contentType } });
}

/** Create the handler of a port that serves only `GET /metrics`. `read` returns the current metrics. */
export function createMetricsHandler(read: () => Promise<MetricsText>): (request: Request) => Promise<Response> {
  return async (request) => {
    const headers = { 'cache-control': 'no-store' };
    if (pathOf(request) !== METRICS_PATH) return new Response(null, { status: 404, headers });
    if (request.method !== 'GET') return new Response(null, { status: 405, headers: { ...headers, allow: 'GET' } });
    return metricsResponse(await read(), headers);
  };
}

function createRouter(service: Service, limits: Limits): Hono<RouterEnv> {
  const app = new Hono<RouterEnv>({ getPath: pathOf });
  for (const endpoint of SEALED_ENDPOINTS) {
    const handle = sealedRoute(endpoint, service, limits);
    app.post(endpoint.path, ({ env }) => handle(env));
  }
  const isHealthy = createHealthCheck(service.state, service.settings.logger);
  app.get(HEALTH_PATH, async (c) =>
    (await isHealthy())
      ? c.text('OK', 200, c.env.headers)
      : c.text('database cannot be reached', 503, { ...c.env.headers, 'retry-after': '1' }),
  );
  if (service.settings.publicMetrics)
    app.get(METRICS_PATH, async ({ env }) => metricsResponse(await service.metrics.text(), env.headers));
  for (const path of PATHS)
    if (path !== METRICS_PATH || service.settings.publicMetrics)
      app.all(path, async (c) => {
        await rememberEnvelope(service, limits, c.env);
        return c.body(null, 405, { ...c.env.headers, allow: GET_PATHS.includes(path) ? 'GET' : 'POST' });
      });
  app.notFound(async (c) => {
    await rememberEnvelope(service, limits, c.env);
    return c.html('<html><body><h1>Resource not found</h1></body></html>', 404, c.env.headers);
  });
  // `respond` below answers failures, including those of a refresh.
  app.onError((error) => {
    throw error;
  });
  return app;
}

/** Create the request handler of an operator. It never rejects. */
export function createRequestHandler(service: Service): (request: Request, caller: Caller) => Promise<Response> {
  const { logger } = service.settings;
  const limits = createLimits(service);
  const router = createRouter(service, limits);
  const handleRefresh = refreshRoute(service, limits);
  // One for each route, because on a read-only database logout fails while other routes succeed.
  const outages = new Map(
    [...PATHS].map((path) => [
      path,
      createOutageLog(logger, {
        failure: `${path}: the database cannot serve requests; they fail with 503`,
        recovery: `${path}: the database serves requests again`,
      }),
    ]),
  );

  const respond = async (exchange: Exchange, path: string): Promise<Response> => {
    const { request, headers } = exchange;
    const preflight = path === METRICS_PATH ? undefined : preflightHeaders(request, path === validate.path);
    if (preflight) return new Response(null, { status: 204, headers: { ...headers, ...preflight } });
    try {
      // Every open page sends refreshes, so they are by far the most frequent requests and skip the router.
      if (path === REFRESH_PATH && request.method === 'POST') return await handleRefresh(exchange);
      return await router.fetch(request, exchange);
    } catch (error) {
      if (error instanceof CallerGone) return plainResponse(exchange, GONE);
      if (isTokenError(error) && STATE_CODES.includes(error.code)) {
        outages.get(path)?.failed(error);
        return unavailable(exchange);
      }
      logger?.error({ path: routeOf(path), ...failureFields(error) }, 'unexpected failure');
      return plainResponse(exchange, { httpStatus: 500, json: { status: 'unknown', message: 'Unknown error' } });
    }
  };

  return async (request, caller) => {
    const startedAt = performance.now();
    const path = pathOf(request);
    // Pages have no need of the metrics.
    const headers = path === METRICS_PATH ? {} : corsHeaders(request);
    // No answer may come from a cache, because tokens rotate and clients read the time from `Date`.
    headers['cache-control'] = 'no-store';
    const trace = request.headers.get(TRACE_HEADER);
    if (trace) headers[TRACE_HEADER] = trace;
    const exchange = { request, caller, headers, status: '' };
    const response = await respond(exchange, path);
    if (response.status === 200) outages.get(path)?.recovered();
    const record = {
      method: METHODS.includes(request.method) ? request.method : 'other',
      path: routeOf(path),
      http: response.status,
      status: exchange.status,
      // Whole microseconds: further digits are rounding errors.
      seconds: Math.round((performance.now() - startedAt) * 1000) / 1e6,
    };
    service.metrics.countRequest(record);
    logger?.info(record, 'answered');
    return response;
  };
}
