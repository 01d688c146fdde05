/**
 * `POST /v2/token/validate`: whether a token was generated from a DII, also an expired one or after an opt-out. One that was
 * issued before the last rotation of its salt bucket does not match.
 */

import { openAdvertisingToken } from '../tokens/advertising-token.ts';
import type { Endpoint } from './endpoint.ts';
import { requestDii, stringMember } from './request-dii.ts';
import { clientError, success } from './result.ts';

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

export const validate: Endpoint = {
  path: '/v2/token/validate',
  roles: ['GENERATOR'],
  handle: async ({ now, participant, payload }, service) => {
    const { settings, rawIds, metrics } = service;
    const dii = requestDii(payload);
    if ('httpStatus' in dii) return dii;
    const keys = await service.keys.at(now);
    const token = await openAdvertisingToken(stringMember(payload, 'token') ?? '', keys.byId);
    if (!token || token.scope !== settings.scope) {
      metrics.countValidation('invalid_token');
      return clientError('Invalid token');
    }
    // Compare the site that owns the sealing key, not the site ID in the token.
    if (keys.byId(token.siteKeyId)?.siteId !== participant.siteId) {
      metrics.countValidation('unauthorized');
      return clientError('Unauthorised to validate token');
    }
    const match = sameBytes(token.rawId, rawIds.bytesAt(rawIds.firstLevel(dii.hash), now));
    metrics.countValidation(match ? 'match' : 'mismatch');
    return success(match);
  },
};
