/**
 * The operator as a function from Request to Response: routing, CORS, body limit, who is calling, sealing.
 *
 * The order of one request: CORS, body read and limited, API key and role, envelope, endpoint, sealed answer. It runs
 * on any host of Request and Response; `node.ts` puts it behind a port.
 */

import type { Context } from 'hono';
import { Hono } from 'hono';
import { utf8 } from '../token/index.ts';
import { readBody } from './body.ts';
import { crossOrigin } from './cross-origin.ts';
import { ENDPOINTS } from './endpoints/all.ts';
import { REFRESH_PATH, refresh } from './endpoints/refresh.ts';
import { validate } from './endpoints/validate.ts';
import type { OperatorOptions, Settings } from './options.ts';
import { resolveOptions } from './options.ts';
import { isBinary, sealedAnswer } from './request.ts';
import type { Credentials } from './roles.ts';
import { sealer } from './seal.ts';
import type { Told } from './sealed-route.ts';
import { plainAnswer, sealedRoute, tooLong } from './sealed-route.ts';
import type { Service } from './service.ts';
import { createService } from './service.ts';

/** An operator. */
export interface Operator {
  /** Answer one request; never rejects. */
  fetch(request: Request): Promise<Response>;
  /** Credentials of the participants that the options named; what they left out was made. Secret. */
  readonly participants: readonly Credentials[];
  /** Those of them of which something was made: nobody else knows it. Secret. */
  readonly made: readonly Credentials[];
  /** The settings in force that are no secret. */
  readonly settings: Pick<
    Settings,
    'environment' | 'scope' | 'identityExpiresMs' | 'refreshFromMs' | 'refreshExpiresMs' | 'rotationPeriod'
  >;
  /** 16 hexadecimal digits that recognise the root secret. */
  readonly fingerprint: string;
  /** Where the options gave no state, nothing of opt-outs and participants outlives the process. */
  readonly inMemory: boolean;
  /** Let go of the state. Requests under way should have been answered. */
  close(): Promise<void>;
}

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

/**
 * Create an operator.
 *
 * @throws {TypeError | RangeError} a wrong option, by name.
 * @example
 * const operator = createOperator({ apiKey, clientSecret, siteId: 101, roles: ['GENERATOR'], rootSecret });
 * const response = await operator.fetch(new Request('http://localhost/v2/token/refresh', { method: 'POST', body: refreshToken }));
 */
export const createOperator = (options: OperatorOptions = {}): Operator => {
  const settings = resolveOptions(options);
  const service = createService(settings);
  const { logger } = settings;
  const { metrics } = service;
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
  app.get(HEALTH_PATH, (c) => c.text('OK'));
  app.get(METRICS_PATH, async (c) => c.body(await metrics.text(), 200, { 'content-type': metrics.contentType }));
  for (const path of PATHS)
    app.all(path, (c) => c.body(null, 405, { allow: READ_PATHS.includes(path) ? 'GET' : 'POST' }));
  app.notFound((c) => c.html('<html><body><h1>Resource not found</h1></body></html>', 404));
  app.onError((error, c) => {
    // Its name only: a message may quote what it choked on.
    logger?.error({ error: error.name }, 'unexpected failure');
    return c.json({ status: 'unknown', message: 'Unknown error' }, 500);
  });

  const { environment, scope, identityExpiresMs, refreshFromMs, refreshExpiresMs, rotationPeriod } = settings;
  return {
    fetch: async (request) => app.fetch(request),
    participants: service.credentials,
    made: service.credentials.filter((_, at) => {
      const { apiKey, clientSecret } = settings.participants[at]!;
      return apiKey === undefined || clientSecret === undefined;
    }),
    settings: { environment, scope, identityExpiresMs, refreshFromMs, refreshExpiresMs, rotationPeriod },
    fingerprint: service.fingerprint,
    inMemory: settings.state === undefined,
    close: () => service.state.close(),
  };
};
