/** `POST /v2/token/logout`: record that a user has opted out, here and for all who ask from now on. */

import type { Endpoint } from './endpoint.ts';
import { oneDii } from './request-dii.ts';
import { refuse, success } from './result.ts';

export const logout: Endpoint = {
  path: '/v2/token/logout',
  roles: ['OPTOUT'],
  answer: async ({ at, payload }, { rawIds, optOuts }) => {
    const dii = oneDii(payload);
    if ('http' in dii) return refuse('invalid_token', `Invalid Token presented: ${dii.json.message}`);
    await optOuts.record(rawIds.firstLevel(dii.hash), at);
    return success({ optout: 'OK' });
  },
};
