/**
 * The operator as a function from Request to Response: routing, CORS, body limit, who is calling, sealing.
 *
 * The order of one request: CORS, body read and limited, API key and role, envelope, endpoint, sealed answer.
 */

import type { Context } from 'hono';
import { Hono } from 'hono';
import { isTokenError, utf8 } from '../token/index.ts';
import { readBody } from './body.ts';
import { crossOrigin } from './cross-origin.ts';
import { ENDPOINTS } from './endpoints/all.ts';
import { REFRESH_PATH, refresh } from './endpoints/refresh.ts';
import { validate } from './endpoints/validate.ts';
import { isBinary, sealedAnswer } from './request.ts';
import { sealer } from './seal.ts';
import type { Told } from './sealed-route.ts';
import { plainAnswer, sealedRoute, tooLong } from './sealed-route.ts';
import type { Service } from './service.ts';

// Bases are concatenated with paths by real clients: a trailing slash of theirs makes two.
const pathOf = (request: Request): string => new URL(request.url).pathname.replace(/^\/+/, '/');

const refreshRoute =
  (service: Service) =>
  async (c: Context<Told>): Promise<Response> => {
    const body = await readBody(c.req.raw);
    if (!body) return tooLong(c);
    const { reply, key } = await refresh(body, service.settings.now(), service);
    if (!key) return plainAnswer(c, reply);
    c.set('status', reply.json.status);
    return sealedAnswer(
      c,
      await sealer.seal(key, utf8(JSON.stringify(reply.json))),
      isBinary(c.req.header('content-type')),
    );
  };

// What a request may call itself is any word; only these are written down.
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const HEALTH_PATH = '/ops/healthcheck';
const METRICS_PATH = '/metrics';
const READ_PATHS = [HEALTH_PATH, METRICS_PATH];
const PATHS = new Set([...ENDPOINTS.map(({ path }) => path), REFRESH_PATH, ...READ_PATHS]);

/** The answers of a service. The function never rejects. */
export const routesOf = (service: Service): ((request: Request) => Response | Promise<Response>) => {
  const { metrics } = service;
  const { logger } = service.settings;
  const app = new Hono<Told>({ getPath: pathOf });

  app.use(async (c, next) => {
    const startedAt = performance.now();
    await next();
    const trace = c.req.header('x-amzn-trace-id');
    if (trace) c.header('x-amzn-trace-id', trace);
    const answered = {
      method: METHODS.includes(c.req.method) ? c.req.method : 'other',
      // The route, never the address as it came: a path or a query may hold anything.
      path: PATHS.has(c.req.path) ? c.req.path : 'other',
      http: c.res.status,
      status: c.get('status') ?? '',
      seconds: (performance.now() - startedAt) / 1000,
    };
    metrics.answered(answered);
    logger?.info(answered, 'answered');
  });
  app.use(crossOrigin(new Set([validate.path])));

  for (const endpoint of ENDPOINTS) app.post(endpoint.path, sealedRoute(endpoint, service));
  app.post(REFRESH_PATH, refreshRoute(service));
  app.get(HEALTH_PATH, async (c) => {
    try {
      await service.state.check?.();
      return c.text('OK');
    } catch {
      return c.text('database cannot be reached', 503);
    }
  });
  app.get(METRICS_PATH, async (c) => c.body(await metrics.text(), 200, { 'content-type': metrics.contentType }));
  for (const path of PATHS)
    app.all(path, (c) => c.body(null, 405, { allow: READ_PATHS.includes(path) ? 'GET' : 'POST' }));
  app.notFound((c) => c.html('<html><body><h1>Resource not found</h1></body></html>', 404));
  app.onError((error, c) => {
    // Of others the name only: a message may quote what it choked on. Ours never do.
    logger?.error({ error: error.name, ...(isTokenError(error) && { reason: error.message }) }, 'unexpected failure');
    return c.json({ status: 'unknown', message: 'Unknown error' }, 500);
  });

  return (request) => app.fetch(request);
};
