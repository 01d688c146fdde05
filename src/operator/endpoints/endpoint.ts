/** A sealed endpoint (docs/protocol.md, "Endpoints"), without HTTP and encryption, which `http/sealed-route.ts` handles. */

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
  readonly sealedAt: number;
  /** Whether this envelope has been received before, at any path. Known only for callers with the role OPTOUT. */
  readonly isReplay: boolean;
  readonly pause: Pause;
}

export interface Endpoint {
  readonly path: string;
  readonly roles: readonly Role[];
  readonly rateLimited?: boolean;
  /** Headers of every answer, errors included. */
  readonly headers?: Readonly<Record<string, string>>;
  handle(call: EndpointCall, service: Service): Promise<EndpointResult> | EndpointResult;
}

/** Headers of an endpoint that ends on 30 June 2026: `Deprecation` (RFC 9745) and `Sunset` (RFC 8594). */
export const DEPRECATION_HEADERS = { deprecation: '@1782777600', sunset: 'Tue, 30 Jun 2026 00:00:00 GMT' };
