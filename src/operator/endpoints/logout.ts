/**
 * `POST /v2/token/logout`: records that a user has opted out.
 *
 * An opt-out is never lifted, so an envelope that was received before is rejected. Otherwise, an envelope of `generate` that is
 * sent again to this endpoint would opt out the user whom it signed in.
 *
 * @see docs/protocol.md, "Opt-out"
 */

import type { Endpoint } from './endpoint.ts';
import { requestDii } from './request-dii.ts';
import { badRequest, clientError, success } from './result.ts';

const REPLAYED = 'Invalid body: The envelope has been received before. Seal each request anew.';

export const logout: Endpoint = {
  path: '/v2/token/logout',
  roles: ['OPTOUT'],
  handle: async ({ now, payload, isReplay }, { rawIds, optOuts }) => {
    if (isReplay) return clientError(REPLAYED);
    const dii = requestDii(payload);
    if ('httpStatus' in dii) return badRequest('invalid_token', `Invalid Token presented: ${dii.json.message}`);
    await optOuts.record(rawIds.firstLevel(dii.hash), now);
    return success({ optout: 'OK' });
  },
};
