/**
 * `POST /v2/token/refresh`: exchanges a refresh token, the whole body, for a new set or `optout` (docs/protocol.md, "Refresh").
 * The answer is sealed under the response key in the token. A token can be used again, because real pages resend old ones.
 */

import type { Bytes } from '../../token/bytes.ts';
import { decodeB64 } from '../crypto/base64.ts';
import type { Service } from '../service.ts';
import { BODY_MISSING, badRequest, clientError, type EndpointResult, NOT_BASE64, OPT_OUT, success } from './result.ts';

export const REFRESH_PATH = '/v2/token/refresh';

/** A 200 comes with the key that seals it. `now`: epoch ms. */
export async function refresh(
  body: Uint8Array,
  now: number,
  { tokens, optOuts }: Service,
): Promise<{ readonly result: EndpointResult; readonly responseKey?: Bytes }> {
  if (body.length === 0) return { result: clientError(BODY_MISSING) };
  const bytes = decodeB64(body);
  if (!bytes) return { result: clientError(NOT_BASE64) };
  const token = await tokens.openRefresh(bytes, now);
  if (!token) return { result: badRequest('invalid_token', 'Invalid Token presented') };
  // Checked before the opt-out: the expired token of an opted-out user is answered as expired.
  if (token.expiresAt < now) return { result: badRequest('expired_token', 'Expired Token presented') };
  const { firstLevel: user, responseKey, type, siteId, establishedAt, privacyBits } = token;
  const result = (await optOuts.isOptedOutAtRefresh(user))
    ? OPT_OUT
    : success(await tokens.issue({ siteId, type, user, establishedAt, privacyBits }, now));
  return { result, responseKey };
}
