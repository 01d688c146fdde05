/**
 * `POST /v2/token/validate`: was this advertising token generated from this DII?
 *
 * Neither expiry nor opt-out matters; a token issued before the last rotation of its salt bucket validates as false.
 */

import { openAdvertisingToken } from '../tokens/advertising-token.ts';
import type { Endpoint } from './endpoint.ts';
import { oneDii, textIn } from './request-dii.ts';
import { clientError, success } from './result.ts';

const same = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, at) => byte === b[at]);

export const validate: Endpoint = {
  path: '/v2/token/validate',
  roles: ['GENERATOR'],
  answer: async ({ at, participant, payload }, { settings, keys, rawIds, metrics }) => {
    const dii = oneDii(payload);
    if ('http' in dii) return dii;
    const token = await openAdvertisingToken(textIn(payload, 'token') ?? '', keys.byId);
    if (!token || token.scope !== settings.scope) {
      metrics.validated('invalid_token');
      return clientError('Invalid token');
    }
    // The owner of the key that sealed it, rather than the number that is written in it.
    if (keys.byId(token.siteKeyId)?.siteId !== participant.siteId) {
      metrics.validated('unauthorized');
      return clientError('Unauthorised to validate token');
    }
    const match = same(token.rawId, rawIds.bytesAt(rawIds.firstLevel(dii.hash), at));
    metrics.validated(match ? 'match' : 'mismatch');
    return success(match);
  },
};
