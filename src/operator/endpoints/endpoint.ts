/**
 * The interface of a sealed endpoint: a path, the roles that may call it, and a function from an opened request to a
 * result.
 *
 * An endpoint knows neither the HTTP request nor its encryption: `http/sealed-route.ts` handles both for all of them.
 */

import type { Participant } from '../identity/participants.ts';
import type { Role } from '../ports/roles.ts';
import type { Service } from '../service.ts';
import type { EndpointResult } from './result.ts';

/** Lets other requests run, if this one has worked for long. To be called in loops over identifiers; a promise must be awaited. */
export type Pause = () => Promise<void> | undefined;

export interface EndpointCall {
  /** The time of the request, epoch ms. Everything in the answer refers to it. */
  readonly now: number;
  readonly participant: Participant;
  /** The JSON object; undefined if the envelope is empty. */
  readonly payload: Record<string, unknown> | undefined;
  /** The time in the envelope, epoch ms. */
  readonly sealedAt: number;
  /** Whether this envelope has been received before, at any path. Known only for callers with the role OPTOUT. */
  readonly isReplay: boolean;
  /** To be called in loops over identifiers. */
  readonly pause: Pause;
}

/** An endpoint whose requests and answers are sealed under the participant's client secret. */
export interface Endpoint {
  readonly path: string;
  /** A caller needs one of these roles. */
  readonly roles: readonly Role[];
  /** Whether its requests count towards the rate limit. */
  readonly rateLimited?: boolean;
  /** Headers of every answer, errors included. */
  readonly headers?: Readonly<Record<string, string>>;
  handle(call: EndpointCall, service: Service): Promise<EndpointResult> | EndpointResult;
}

/** Headers of an endpoint that ends on 30 June 2026: `Deprecation` (RFC 9745) and `Sunset` (RFC 8594). */
export const DEPRECATION_HEADERS = { deprecation: '@1782777600', sunset: 'Tue, 30 Jun 2026 00:00:00 GMT' };
