/** All limits that protect an operator from its callers, in one object for each operator. */

import type { Service } from '../service.ts';
import { createAddressLimit } from './caller-limits.ts';
import { createLargeRequests } from './large-requests.ts';
import { createLongResponses } from './long-response.ts';
import { createParticipantLookup, MAX_NEW_LOOKUPS } from './participant-lookup.ts';
import { createRateLimit } from './rate-limit.ts';
import { createBodyMemory } from './request-body.ts';

export type Limits = ReturnType<typeof createLimits>;

export function createLimits({ settings, state, participants }: Service) {
  const { rateLimit, anonymousRateLimit } = settings;
  const anonymous = anonymousRateLimit === undefined ? undefined : createAddressLimit(anonymousRateLimit);
  return {
    /** By `keyHash`; undefined without a limit, as `anonymous`. */
    participant: rateLimit === undefined ? undefined : createRateLimit(rateLimit),
    /** For refreshes and rejected requests. */
    anonymous,
    findParticipant: createParticipantLookup(
      participants,
      anonymous,
      state.participants.isInMemory ? undefined : createRateLimit(MAX_NEW_LOOKUPS),
    ),
    bodyMemory: createBodyMemory(),
    /** To await before the work of a request. */
    startRequest: createLargeRequests(),
    longResponse: createLongResponses(settings.logger),
  };
}
