/** `POST /v2/token/generate`: a token set for one DII. */

import { OPTOUT, success } from '../reply.ts';
import type { Endpoint } from './endpoint.ts';
import { oneDii } from './one-dii.ts';

export const generate: Endpoint = {
  path: '/v2/token/generate',
  roles: ['GENERATOR'],
  answer: async ({ at, participant, payload }, { rawIds, optOuts, tokens }) => {
    const dii = oneDii(payload);
    if ('http' in dii) return dii;
    const user = rawIds.firstLevel(dii.hash);
    if ((await optOuts.among([user]))[0]) return OPTOUT;
    return success(await tokens.issue({ siteId: participant.siteId, type: dii.type, user }, at));
  },
};
