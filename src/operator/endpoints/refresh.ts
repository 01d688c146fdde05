/**
 * `POST /v2/token/refresh`: a newer token set for a refresh token, or the word that the user has opted out.
 *
 * Unlike the others it takes no key and no envelope: the body is the token, the answer is sealed under the response
 * key inside it, as JSON alone. Tokens are not single use: real pages send old ones again.
 *
 * @see shared wire facts 2, and 11 rows 7 to 9 and 19
 */

import type { Bytes } from '../../token/bytes.ts';
import { readB64 } from '../crypto/base64.ts';
import { BODY_MISSING, NOT_BASE64 } from '../http/request-envelope.ts';
import type { Service } from '../service.ts';
import type { Reply } from './result.ts';
import { clientError, OPTOUT, refuse, success } from './result.ts';

export const REFRESH_PATH = '/v2/token/refresh';

/**
 * Answer a refresh.
 *
 * @param body  as it came.
 * @param at    the instant of the request, epoch ms.
 * @returns     the reply, and for 200 the key to seal it under.
 */
export async function refresh(
  body: Uint8Array,
  at: number,
  { tokens, optOuts }: Service,
): Promise<{ readonly reply: Reply; readonly key?: Bytes }> {
  if (body.length === 0) return { reply: clientError(BODY_MISSING) };
  const bytes = readB64(body);
  if (!bytes) return { reply: clientError(NOT_BASE64) };
  const token = await tokens.openRefresh(bytes);
  if (!token) return { reply: refuse('invalid_token', 'Invalid Token presented') };
  // Before the opt-out: an expired token of an opted-out user is an expired token.
  if (token.expiresAt < at) return { reply: refuse('expired_token', 'Expired Token presented') };
  const { firstLevel: user, responseKey: key, type, siteId, establishedAt, privacyBits } = token;
  const reply = (await optOuts.atRefresh(user))
    ? OPTOUT
    : success(await tokens.issue({ siteId, type, user, establishedAt, privacyBits }, at));
  return { reply, key };
}
