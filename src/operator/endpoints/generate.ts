/** `POST /v2/token/generate`: a token set for one DII. In EUID, a TCF consent string without sufficient consent prevents it. */

import { encodeB64 } from '../crypto/base64.ts';
import type { Endpoint } from './endpoint.ts';
import { requestDii, stringMember } from './request-dii.ts';
import { clientError, INSUFFICIENT_CONSENT, OPT_OUT, success } from './result.ts';
import { readTcfConsent } from './tcf/tcf-consent.ts';

const CONSENT = 'tcf_consent_string';

export const generate: Endpoint = {
  path: '/v2/token/generate',
  roles: ['GENERATOR'],
  handle: async ({ now, participant, payload }, { rawIds, optOuts, tokens, settings }) => {
    const dii = requestDii(payload);
    if ('httpStatus' in dii) return dii;
    // Null does not count as absent here, because a CMP without an answer must not count as consent.
    const isAsked = settings.scope === 'EUID' && payload?.[CONSENT] !== undefined;
    const consent = isAsked ? readTcfConsent(stringMember(payload, CONSENT) ?? '') : 'sufficient';
    if (consent === 'invalid') return clientError('User consent is invalid');
    if (consent === 'insufficient') return INSUFFICIENT_CONSENT;
    consent satisfies 'sufficient';
    const user = rawIds.firstLevel(dii.hash);
    if ((await optOuts.areOptedOut([encodeB64(user)]))[0]) return OPT_OUT;
    return success(await tokens.issue({ siteId: participant.siteId, type: dii.type, user }, now));
  },
};
