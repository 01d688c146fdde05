/**
 * `POST /v2/token/generate`: issues a token set for one DII.
 *
 * An EUID caller may send a TCF consent string: without sufficient consent it gets no token. `tcf-consent.ts` reads it.
 *
 * @see docs/protocol.md, "Endpoints"
 */

import type { Endpoint } from './endpoint.ts';
import { requestDii, stringMember } from './request-dii.ts';
import { clientError, INSUFFICIENT_CONSENT, OPTOUT, success } from './result.ts';
import { readTcfConsent } from './tcf-consent.ts';

export const generate: Endpoint = {
  path: '/v2/token/generate',
  roles: ['GENERATOR'],
  handle: async ({ now, participant, payload }, { rawIds, optOuts, tokens, settings }) => {
    const dii = requestDii(payload);
    if ('httpStatus' in dii) return dii;
    const text = settings.scope === 'EUID' ? stringMember(payload, 'tcf_consent_string') : undefined;
    const consent = text === undefined ? 'sufficient' : readTcfConsent(text);
    if (consent === 'invalid') return clientError('User consent is invalid');
    if (consent === 'insufficient') return INSUFFICIENT_CONSENT;
    const user = rawIds.firstLevel(dii.hash);
    if ((await optOuts.areOptedOut([user]))[0]) return OPTOUT;
    return success(await tokens.issue({ siteId: participant.siteId, type: dii.type, user }, now));
  },
};
