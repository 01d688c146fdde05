/**
 * From an HTTP request to an endpoint and back, the same way for all that are sealed.
 *
 * Order: body, API key and role, rate limit, envelope, endpoint, sealed answer. One instant serves the whole request.
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
import { bodyAnswer, isBinary, plainAnswer, sealedAnswer, tooLong, tooMany } from './response.ts';

/** Answer the requests to a sealed endpoint. */
export function sealedRoute(endpoint: Endpoint, service: Service) {
  return async (exchange: Exchange): Promise<Response> => {
    const { request } = exchange;
    Object.assign(exchange.headers, endpoint.headers);
    const body = await readBody(request);
    if (!body) return tooLong(exchange);
    const participant = await service.participants.find(request.headers.get('authorization') ?? undefined);
    if (!participant) return plainAnswer(exchange, unauthorized('API key missing or unknown'));
    if (!endpoint.roles.some((role) => participant.roles.has(role)))
      return plainAnswer(exchange, unauthorized('API key not permitted for this operation'));
    const waitMs = endpoint.limited ? await service.limiter?.take(participant.keyHash) : undefined;
    if (waitMs !== undefined) return tooMany(exchange, waitMs);

    const { secret } = participant;
    const at = service.settings.now();
    const opened = await openBody(body, isBinary(request), secret, at);
    if ('http' in opened) return plainAnswer(exchange, opened);
    const reply = await endpoint.answer({ at, participant, payload: opened.payload }, service);
    if (reply.http !== 200) return plainAnswer(exchange, reply);

    exchange.status = reply.json.status;
    const { nonce, binary } = opened;
    const seal = async (): Promise<Bytes> =>
      sealResponse(secret, { at, nonce, json: (await reply.write?.()) ?? JSON.stringify(reply.json) });
    if (!reply.long) return sealedAnswer(exchange, await seal(), binary);
    return bodyAnswer(exchange, longBody(service.turns, seal, binary), binary);
  };
}
