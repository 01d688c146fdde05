/**
 * `POST /v2/token/generate`: issues a token set for one DII.
 *
 * An EUID caller may send a TCF consent string. Only its syntax is checked: what the user has consented to is a matter
 * between the publisher and its consent platform.
 *
 * @see docs/protocol.md, "Endpoints"
 */

import type { Endpoint } from './endpoint.ts';
import { requestDii, stringMember } from './request-dii.ts';
import { clientError, OPTOUT, success } from './result.ts';

// Segments of URL-safe base64, separated by dots. The first segment starts with the version, 2 in six bits ("C"), and has
// 213 bits before its list of vendors.
const TCF_STRING = /^C[\w-]{35,}(\.[\w-]+)*$/;

export const generate: Endpoint = {
  path: '/v2/token/generate',
  roles: ['GENERATOR'],
  handle: async ({ now, participant, payload }, { rawIds, optOuts, tokens, settings }) => {
    const dii = requestDii(payload);
    if ('httpStatus' in dii) return dii;
    const consent = settings.scope === 'EUID' ? stringMember(payload, 'tcf_consent_string') : undefined;
    if (consent !== undefined && !TCF_STRING.test(consent)) return clientError('User consent is invalid');
    const user = rawIds.firstLevel(dii.hash);
    if ((await optOuts.areOptedOut([user]))[0]) return OPTOUT;
    return success(await tokens.issue({ siteId: participant.siteId, type: dii.type, user }, now));
  },
};
