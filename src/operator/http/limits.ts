/** All limits that protect an operator from its callers, in one object for each operator. */

import type { RateLimit } from '../ports/state.ts';
import type { Service } from '../service.ts';
import { memoryRateLimit } from '../state/rate-limit.ts';
import { type AddressLimit, createAddressLimit } from './caller-limits.ts';
import { createLargeRequests } from './large-requests.ts';
import { createTurns, type Turns } from './long-response.ts';
import { createParticipantLookup, type ParticipantLookup } from './participant-lookup.ts';
import { type BodyMemory, createBodyMemory } from './request-body.ts';

/** The limits of one operator. */
export interface Limits {
  /** Limits requests by participant. Undefined if the options set no limit. */
  readonly participant: RateLimit | undefined;
  /** Limits refreshes and rejected requests by address. Undefined if the options set no limit. */
  readonly anonymous: AddressLimit | undefined;
  readonly findParticipant: ParticipantLookup;
  readonly bodyMemory: BodyMemory;
  /** Await before the work of a request: see {@link createLargeRequests}. */
  readonly startRequest: ReturnType<typeof createLargeRequests>;
  /** Held by the one long response that is being generated and read. */
  readonly longResponses: Turns;
}

/** Create the limits of an operator. */
export function createLimits({ settings, state, participants }: Service): Limits {
  const { rateLimit, anonymousRateLimit } = settings;
  const anonymous = anonymousRateLimit === undefined ? undefined : createAddressLimit(anonymousRateLimit);
  return {
    participant: rateLimit === undefined ? undefined : (state.limiter?.(rateLimit) ?? memoryRateLimit(rateLimit)),
    anonymous,
    findParticipant: createParticipantLookup(
      participants,
      anonymous,
      undefined,
      state.participants.isInMemory ? Number.POSITIVE_INFINITY : undefined,
    ),
    bodyMemory: createBodyMemory(),
    startRequest: createLargeRequests(),
    longResponses: createTurns(),
  };
}
