/**
 * From an HTTP request to an endpoint and back, the same way for all that are sealed.
 *
 * Order: body, API key and role, rate limit, envelope, endpoint, sealed answer. One instant serves the whole request.
 */

import type { Context } from 'hono';
import type { Bytes } from '../token/index.ts';
import { sealResponse } from '../token/index.ts';
import { readBody } from './body.ts';
import type { Endpoint } from './endpoints/endpoint.ts';
import { longBody } from './long-answer.ts';
import type { Reply } from './reply.ts';
import { unauthorized } from './reply.ts';
import { contentTypeOf, isBinary, openBody, sealedAnswer } from './request.ts';
import type { Service } from './service.ts';

/** What the routes tell the log and the metrics: the `status` of their JSON. */
export interface Told {
  Variables: { status: string };
}

/** The answer to a body beyond the limit. */
export const tooLong = (c: Context): Response => c.text('Request Too Long', 413);

/** An answer in plain JSON: every error. */
export const plainAnswer = (c: Context<Told>, { http, json }: Reply): Response => {
  c.set('status', json.status);
  return c.json(json, http);
};

/** Answer the requests to a sealed endpoint. */
export const sealedRoute =
  (endpoint: Endpoint, service: Service) =>
  async (c: Context<Told>): Promise<Response> => {
    for (const [name, value] of Object.entries(endpoint.headers ?? {})) c.header(name, value);
    const body = await readBody(c.req.raw);
    if (!body) return tooLong(c);
    const participant = await service.participants.find(c.req.header('authorization'));
    if (!participant) return plainAnswer(c, unauthorized('API key missing or unknown'));
    if (!endpoint.roles.some((role) => participant.roles.has(role)))
      return plainAnswer(c, unauthorized('API key not permitted for this operation'));
    const waitMs = endpoint.limited ? await service.limiter?.take(participant.keyHash) : undefined;
    if (waitMs !== undefined) return c.body(null, 429, { 'retry-after': `${Math.max(1, Math.ceil(waitMs / 1000))}` });

    const { secret } = participant;
    const at = service.settings.now();
    const opened = await openBody(body, isBinary(c.req.header('content-type')), secret, at);
    if ('http' in opened) return plainAnswer(c, opened);
    const reply = await endpoint.answer({ at, participant, payload: opened.payload }, service);
    if (reply.http !== 200) return plainAnswer(c, reply);

    c.set('status', reply.json.status);
    const { nonce, binary } = opened;
    const seal = async (): Promise<Bytes> =>
      sealResponse(secret, { at, nonce, json: (await reply.write?.()) ?? JSON.stringify(reply.json) });
    if (!reply.long) return sealedAnswer(c, await seal(), binary);
    return c.body(longBody(service.turns, seal, binary), 200, { 'content-type': contentTypeOf(binary) });
  };
