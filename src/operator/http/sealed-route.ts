/**
 * A request to a sealed endpoint: announced length, API key and role, memory for the body, body, envelope, rate limit, start of a
 * large request, endpoint, sealed answer. So the body of an unknown caller is never read, and only a caller with the client
 * secret uses up a participant's rate limit. The clock is read once: the answer and the time in its envelope agree.
 */

import { sealResponse } from '../../token/index.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { type EndpointResult, unauthorized } from '../endpoints/result.ts';
import type { Participant } from '../identity/participants.ts';
import type { Service } from '../service.ts';
import type { Limits } from './limits.ts';
import { announcesMoreThan, MAX_BODY_BYTES, readBody } from './request-body.ts';
import { isCurrent, type OpenedRequest, openBody } from './request-envelope.ts';
import { bodyTooLarge, type Exchange, isBinary, plainResponse, rateLimited, sealedResponse } from './response.ts';

/** Time after which a participant may request a long response again, ms. */
const LONG_RETRY_MS = 5000;
/** Time after which another body of a participant may fit into its memory, ms. */
const MEMORY_RETRY_MS = 1000;

const NOT_PERMITTED = unauthorized('API key not permitted for this operation');

interface ReceivedRequest extends OpenedRequest {
  readonly now: number;
  readonly isReplay: boolean;
  readonly bodyBytes: number;
}

/**
 * Reads and opens an envelope; undefined if the body is too large. For the role OPTOUT, it is remembered before anything, even a
 * missing role, can refuse it, because it does not say for which endpoint it was sealed: at logout, one for another endpoint
 * would opt out its user. Only one that is rejected for its time counts first: a participant could fill the memory with them.
 */
async function receive(
  { settings, envelopes }: Service,
  limits: Pick<Limits, 'participant' | 'anonymous'>,
  { request, caller }: Exchange,
  { secret, roles, keyHash }: Participant,
): Promise<ReceivedRequest | EndpointResult | { readonly waitMs: number } | undefined> {
  const body = await readBody(request);
  if (!body) return undefined;
  const now = settings.now();
  const opened = await openBody(body, isBinary(request), secret, now, settings.scope);
  if ('httpStatus' in opened) return opened;
  if (roles.has('OPTOUT') && !isCurrent(opened.sealedAt, now)) {
    const waitMs = limits.participant?.take(keyHash) ?? limits.anonymous?.take(caller.address);
    if (waitMs !== undefined) return { waitMs };
  }
  const isReplay = roles.has('OPTOUT') && !(await envelopes.add(opened.tag, now, opened.sealedAt));
  return { ...opened, now, isReplay, bodyBytes: body.length };
}

/** Remember the envelope of a request that no endpoint serves, as those of all other requests. */
export async function rememberEnvelope(service: Service, limits: Limits, exchange: Exchange): Promise<void> {
  const { findParticipant, bodyMemory } = limits;
  const { request, caller } = exchange;
  const authorization = request.headers.get('authorization');
  if (!authorization || announcesMoreThan(request, MAX_BODY_BYTES)) return;
  const participant = await findParticipant(authorization, caller.address);
  if (!participant || 'waitMs' in participant || !participant.roles.has('OPTOUT')) return;
  const release = bodyMemory.reserve(participant.keyHash, request);
  if (release) await receive(service, limits, exchange, participant).finally(release);
}

export function sealedRoute(
  endpoint: Endpoint,
  service: Service,
  limits: Limits,
): (exchange: Exchange) => Promise<Response> {
  // Counts as a request of a caller who has not proved to be a participant.
  const refuse = (exchange: Exchange, result: EndpointResult): Response => {
    const waitMs = limits.anonymous?.take(exchange.caller.address);
    return waitMs === undefined ? plainResponse(exchange, result) : rateLimited(exchange, waitMs);
  };
  const isPermitted = ({ roles }: Participant): boolean => endpoint.roles.some((role) => roles.has(role));

  const answer = async (
    exchange: Exchange,
    participant: Participant,
    { payload, nonce, binary, now, sealedAt, isReplay, bodyBytes }: ReceivedRequest,
  ): Promise<Response> => {
    const pause = await limits.startRequest({
      bodyBytes,
      participant: participant.keyHash,
      isGone: () => exchange.request.signal.aborted,
    });
    const result = await endpoint.handle({ now, participant, payload, sealedAt, isReplay, pause }, service);
    if (result.httpStatus !== 200) return plainResponse(exchange, result);
    const respond = async (): Promise<Response> => {
      exchange.status = result.json.status;
      const json = (await result.writeJson?.()) ?? JSON.stringify(result.json);
      return sealedResponse(exchange, await sealResponse(participant.secret, { at: now, nonce, json }), binary, pause);
    };
    if (!result.isLong) return respond();
    return (await limits.longResponse(exchange.caller, respond)) ?? rateLimited(exchange, LONG_RETRY_MS);
  };

  const open = async (exchange: Exchange, participant: Participant): Promise<Response> => {
    const received = await receive(service, limits, exchange, participant);
    if (!received) return bodyTooLarge(exchange);
    if ('waitMs' in received) return rateLimited(exchange, received.waitMs);
    if (!isPermitted(participant)) return refuse(exchange, NOT_PERMITTED);
    if ('httpStatus' in received) return refuse(exchange, received);
    if (received.fault) return refuse(exchange, received.fault);
    const waitMs = endpoint.rateLimited ? limits.participant?.take(participant.keyHash) : undefined;
    if (waitMs !== undefined) return rateLimited(exchange, waitMs);
    return answer(exchange, participant, received);
  };

  return async (exchange) => {
    const { request, headers } = exchange;
    Object.assign(headers, endpoint.headers);
    if (announcesMoreThan(request, MAX_BODY_BYTES)) return bodyTooLarge(exchange);
    const authorization = request.headers.get('authorization') ?? undefined;
    const participant = await limits.findParticipant(authorization, exchange.caller.address);
    if (!participant) return plainResponse(exchange, unauthorized('API key missing or unknown'));
    if ('waitMs' in participant) return rateLimited(exchange, participant.waitMs);
    if (!isPermitted(participant) && !participant.roles.has('OPTOUT')) return refuse(exchange, NOT_PERMITTED);
    const release = limits.bodyMemory.reserve(participant.keyHash, request);
    if (!release) return rateLimited(exchange, MEMORY_RETRY_MS);
    try {
      return await open(exchange, participant);
    } finally {
      release();
    }
  };
}
