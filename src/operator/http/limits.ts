/** All limits that protect an operator from its callers, in one object for each operator. */

import type { Service } from '../service.ts';
import { type AddressLimit, createAddressLimit } from './caller-limits.ts';
import { createLargeRequests } from './large-requests.ts';
import { createLongResponses } from './long-response.ts';
import { createParticipantLookup, MAX_NEW_LOOKUPS, type ParticipantLookup } from './participant-lookup.ts';
import { createRateLimit, type RateLimit } from './rate-limit.ts';
import { type BodyMemory, createBodyMemory } from './request-body.ts';

export interface Limits {
  /** Limits requests by participant: by its `keyHash`. Undefined if the options set no limit. */
  readonly participant: RateLimit | undefined;
  /** Limits refreshes and rejected requests by address. Undefined if the options set no limit. */
  readonly anonymous: AddressLimit | undefined;
  readonly findParticipant: ParticipantLookup;
  readonly bodyMemory: BodyMemory;
  /** Await before the work of a request: see {@link createLargeRequests}. */
  readonly startRequest: ReturnType<typeof createLargeRequests>;
  readonly longResponse: ReturnType<typeof createLongResponses>;
}

export function createLimits({ settings, state, participants }: Service): Limits {
  const { rateLimit, anonymousRateLimit } = settings;
  const anonymous = anonymousRateLimit === undefined ? undefined : createAddressLimit(anonymousRateLimit);
  return {
    participant: rateLimit === undefined ? undefined : createRateLimit(rateLimit),
    anonymous,
    findParticipant: createParticipantLookup(
      participants,
      anonymous,
      state.participants.isInMemory ? undefined : createRateLimit(MAX_NEW_LOOKUPS),
    ),
    bodyMemory: createBodyMemory(),
    startRequest: createLargeRequests(),
    longResponse: createLongResponses(settings.logger),
  };
}
