/**
 * `POST /v2/token/logout`: records an opt-out, which is never lifted. So an envelope that was received before is rejected: one of
 * `generate`, sent again to this endpoint, would opt out the user whom it signed in. Envelopes are remembered only for
 * participants with the role OPTOUT, so one that is older than the role is rejected too.
 */

import { ENVELOPE_MS } from '../ports/envelopes.ts';
import type { Endpoint } from './endpoint.ts';
import { requestDii } from './request-dii.ts';
import { badRequest, clientError, success } from './result.ts';

const REPLAYED = 'Invalid body: The envelope has been received before. Seal each request anew.';
const OLDER_THAN_ROLE =
  'Invalid body: The envelope is older than the role OPTOUT of this participant. Seal each request anew, with the current time.';

export const logout: Endpoint = {
  path: '/v2/token/logout',
  roles: ['OPTOUT'],
  handle: async ({ now, payload, participant, sealedAt, isReplay }, { rawIds, optOuts }) => {
    if (isReplay) return clientError(REPLAYED);
    // By more than that, only if the operator's clock has been set back meanwhile.
    const olderByMs = participant.optOutSince - sealedAt;
    if (olderByMs > 0 && olderByMs < ENVELOPE_MS) return clientError(OLDER_THAN_ROLE);
    const dii = requestDii(payload);
    if ('httpStatus' in dii) return badRequest('invalid_token', `Invalid Token presented: ${dii.json.message}`);
    await optOuts.record(rawIds.firstLevel(dii.hash), now);
    return success({ optout: 'OK' });
  },
};
