/**
 * What an endpoint is: a path, the roles that open it, and a function from an opened request to a reply.
 *
 * It knows neither HTTP nor encryption; `sealed-route.ts` does both, the same way for all of them.
 */

import type { Participant } from '../identity/participants.ts';
import type { Role } from '../identity/roles.ts';
import type { Service } from '../service.ts';
import type { Reply } from './result.ts';

/** One request, opened. */
export interface Call {
  /** The instant of the request, epoch ms: the same for all that is computed, and for the envelope of the answer. */
  readonly at: number;
  readonly participant: Participant;
  /** The JSON object; undefined where the envelope held none. */
  readonly payload: Record<string, unknown> | undefined;
}

/** An endpoint whose requests and answers are sealed under the caller's secret. */
export interface Endpoint {
  readonly path: string;
  /** Any of these opens it. */
  readonly roles: readonly Role[];
  /** Whether the rate limit counts its requests. */
  readonly limited?: boolean;
  /** Go with every answer, also with a refusal. */
  readonly headers?: Readonly<Record<string, string>>;
  answer(call: Call, service: Service): Promise<Reply> | Reply;
}

/** Headers of an endpoint that is to be left by 30 June 2026: RFC 9745 and RFC 8594. */
export const DEPRECATED = { deprecation: '@1782777600', sunset: 'Tue, 30 Jun 2026 00:00:00 GMT' };
