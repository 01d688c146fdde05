/**
 * `POST /v2/token/generate`: a token set for one DII.
 *
 * An EUID caller may send the user's consent along, as a TCF string. It is looked at, and not read: what was consented
 * to is between the publisher and its consent platform.
 *
 * @see shared wire facts 3.1
 */

import type { Endpoint } from './endpoint.ts';
import { oneDii, textIn } from './request-dii.ts';
import { clientError, OPTOUT, success } from './result.ts';

// Segments of URL-safe base64. The first starts with the version, 2 in six bits, and has 213 bits before its vendors.
const TCF_STRING = /^C[\w-]{35,}(\.[\w-]+)*$/;

export const generate: Endpoint = {
  path: '/v2/token/generate',
  roles: ['GENERATOR'],
  answer: async ({ at, participant, payload }, { rawIds, optOuts, tokens, settings }) => {
    const dii = oneDii(payload);
    if ('http' in dii) return dii;
    const consent = settings.scope === 'EUID' ? textIn(payload, 'tcf_consent_string') : undefined;
    if (consent !== undefined && !TCF_STRING.test(consent)) return clientError('User consent is invalid');
    const user = rawIds.firstLevel(dii.hash);
    if ((await optOuts.among([user]))[0]) return OPTOUT;
    return success(await tokens.issue({ siteId: participant.siteId, type: dii.type, user }, at));
  },
};
