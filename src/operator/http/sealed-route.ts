/**
 * Handles a request to a sealed endpoint, in the same way for all of them.
 *
 * Order: body, API key and role, rate limit, envelope, endpoint, sealed answer. The clock is read once, so the answer
 * and the time in its envelope agree.
 */

import type { Bytes } from '../../token/bytes.ts';
import { sealResponse } from '../../token/index.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { unauthorized } from '../endpoints/result.ts';
import type { Service } from '../service.ts';
import { longBody } from './long-response.ts';
import { readBody } from './request-body.ts';
import { openBody } from './request-envelope.ts';
import type { Exchange } from './response.ts';
import { bodyResponse, bodyTooLarge, isBinary, plainResponse, rateLimited, sealedResponse } from './response.ts';

/** Create the handler of a sealed endpoint. */
export function sealedRoute(endpoint: Endpoint, service: Service): (exchange: Exchange) => Promise<Response> {
  return async (exchange) => {
    const { request } = exchange;
    Object.assign(exchange.headers, endpoint.headers);
    const body = await readBody(request);
    if (!body) return bodyTooLarge(exchange);
    const participant = await service.participants.find(request.headers.get('authorization') ?? undefined);
    if (!participant) return plainResponse(exchange, unauthorized('API key missing or unknown'));
    if (!endpoint.roles.some((role) => participant.roles.has(role)))
      return plainResponse(exchange, unauthorized('API key not permitted for this operation'));
    const waitMs = endpoint.rateLimited ? await service.rateLimit?.take(participant.keyHash) : undefined;
    if (waitMs !== undefined) return rateLimited(exchange, waitMs);

    const { secret } = participant;
    const { scope, now: readClock } = service.settings;
    const now = readClock();
    const opened = await openBody(body, isBinary(request), secret, now, scope);
    if ('httpStatus' in opened) return plainResponse(exchange, opened);
    const result = await endpoint.handle({ now, participant, payload: opened.payload }, service);
    if (result.httpStatus !== 200) return plainResponse(exchange, result);

    exchange.status = result.json.status;
    const { nonce, binary } = opened;
    const seal = async (): Promise<Bytes> => {
      const json = (await result.writeJson?.()) ?? JSON.stringify(result.json);
      return sealResponse(secret, { at: now, nonce, json });
    };
    if (!result.isLong) return sealedResponse(exchange, await seal(), binary);
    return bodyResponse(exchange, longBody(service.longResponseMutex, seal, binary), binary);
  };
}
