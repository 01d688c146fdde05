/**
 * Handles a request to a sealed endpoint; the steps are the same for all of them.
 *
 * Order: announced length, API key and role, memory for the body, body, envelope, rate limit, replay check, start of a large
 * request, endpoint, sealed answer. Therefore, the body of an unknown caller is never read, and only a caller with the client
 * secret uses up a participant's rate limit. The clock is read once, so that the answer and the time in its envelope agree.
 */

import type { Bytes } from '../../token/bytes.ts';
import { sealResponse } from '../../token/index.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { EndpointResult } from '../endpoints/result.ts';
import { unauthorized } from '../endpoints/result.ts';
import type { Participant } from '../identity/participants.ts';
import { failureFields, type Logger } from '../options/logger.ts';
import type { Service } from '../service.ts';
import type { Caller } from './caller-limits.ts';
import type { Limits } from './limits.ts';
import { longBody } from './long-response.ts';
import { announcesMoreThan, MAX_BODY_BYTES, readBody } from './request-body.ts';
import type { OpenedRequest } from './request-envelope.ts';
import { openBody } from './request-envelope.ts';
import type { Exchange } from './response.ts';
import { bodyResponse, bodyTooLarge, isBinary, plainResponse, rateLimited, sealedResponse } from './response.ts';

// Time after which a participant may request another long response, ms.
const TURN_RETRY_MS = 5000;
// Time after which another body of a participant may fit into its memory, ms.
const MEMORY_RETRY_MS = 1000;

type Handler = (exchange: Exchange) => Promise<Response>;

// Returns a function that answers a caller who has not proved to be a participant.
const refusal =
  ({ anonymous }: Limits) =>
  (exchange: Exchange, result: EndpointResult): Response => {
    const waitMs = anonymous?.take(exchange.caller.address);
    return waitMs === undefined ? plainResponse(exchange, result) : rateLimited(exchange, waitMs);
  };

// Returns the function that handles the failure of a long response: its status has been sent, so it can only close the
// connection.
const failureHandler =
  ({ disconnect }: Caller, logger: Logger | undefined) =>
  (error: unknown): boolean => {
    logger?.warn(failureFields(error), 'a long response was cut off');
    disconnect?.();
    return disconnect !== undefined;
  };

/** Create the handler of a sealed endpoint. */
export function sealedRoute(endpoint: Endpoint, service: Service): Handler {
  const { settings, limits } = service;

  const refuse = refusal(limits);

  const answer = async (
    exchange: Exchange,
    participant: Participant,
    { payload, nonce, binary, tag }: OpenedRequest,
    now: number,
    bodyBytes: number,
  ): Promise<Response> => {
    // An envelope does not say for which endpoint it was sealed: one with a DII for another endpoint would opt out its user at
    // logout.
    const isReplay = participant.roles.has('OPTOUT') && !(await service.envelopes.add(tag, now));
    await limits.startRequest(bodyBytes, participant.keyHash);
    const result = await endpoint.handle({ now, participant, payload, isReplay }, service);
    if (result.httpStatus !== 200) return plainResponse(exchange, result);
    const turn = result.isLong ? await limits.longResponses.acquire(participant.keyHash) : undefined;
    if (result.isLong && !turn) return rateLimited(exchange, TURN_RETRY_MS);
    exchange.status = result.json.status;
    const seal = async (): Promise<Bytes> => {
      const json = (await result.writeJson?.()) ?? JSON.stringify(result.json);
      return sealResponse(participant.secret, { at: now, nonce, json });
    };
    if (!turn) return sealedResponse(exchange, await seal(), binary);
    const onFailure = failureHandler(exchange.caller, settings.logger);
    return bodyResponse(exchange, longBody({ turn, write: seal, binary, onFailure }), binary);
  };

  const open = async (exchange: Exchange, participant: Participant): Promise<Response> => {
    const { request } = exchange;
    const body = await readBody(request);
    if (!body) return bodyTooLarge(exchange);
    const now = settings.now();
    const opened = await openBody(body, isBinary(request), participant.secret, now, settings.scope);
    if ('httpStatus' in opened) return refuse(exchange, opened);
    const waitMs = endpoint.rateLimited ? await limits.participant?.take(participant.keyHash) : undefined;
    if (waitMs !== undefined) return rateLimited(exchange, waitMs);
    return answer(exchange, participant, opened, now, body.length);
  };

  return async (exchange) => {
    const { request, headers } = exchange;
    Object.assign(headers, endpoint.headers);
    if (announcesMoreThan(request, MAX_BODY_BYTES)) return bodyTooLarge(exchange);
    const participant = await limits.findParticipant(request.headers.get('authorization') ?? undefined);
    if (!participant) return refuse(exchange, unauthorized('API key missing or unknown'));
    if ('waitMs' in participant) return rateLimited(exchange, participant.waitMs);
    if (!endpoint.roles.some((role) => participant.roles.has(role)))
      return refuse(exchange, unauthorized('API key not permitted for this operation'));
    const release = limits.bodyMemory.reserve(participant.keyHash, request);
    if (!release) return rateLimited(exchange, MEMORY_RETRY_MS);
    try {
      return await open(exchange, participant);
    } finally {
      release();
    }
  };
}
