/**
 * `POST /v2/token/logout`: records that a user has opted out.
 *
 * @see docs/protocol.md, "Opt-out"
 */

import type { Endpoint } from './endpoint.ts';
import { requestDii } from './request-dii.ts';
import { badRequest, success } from './result.ts';

export const logout: Endpoint = {
  path: '/v2/token/logout',
  roles: ['OPTOUT'],
  handle: async ({ now, payload }, { rawIds, optOuts }) => {
    const dii = requestDii(payload);
    if ('httpStatus' in dii) return badRequest('invalid_token', `Invalid Token presented: ${dii.json.message}`);
    await optOuts.record(rawIds.firstLevel(dii.hash), now);
    return success({ optout: 'OK' });
  },
};
