/**
 * The refresh token: everything that the operator must know again when it comes back, sealed. Nothing is stored.
 *
 * | offset | size | content |
 * |---|---|---|
 * | 0 | 1 | scope x 16 |
 * | 1 | 4 | refresh key id |
 * | 5 | 12 + 258 + 16 | iv, ciphertext, tag of the sealed part, AES-256-GCM |
 *
 * Sealed part: type[1], expires[8], created[8], site id[4], privacy bits[4], established[8], first-level hash[32],
 * response key[32], zeros to 258. The text is standard base64: 388 characters, always. Clients tell by that length
 * that the answer will be encrypted, and hold the token for opaque otherwise: the layout is this operator's own.
 */

import type { Bytes } from '../../token/bytes.ts';
import { IV_LENGTH, TAG_LENGTH } from '../../token/cipher.ts';
import type { DiiType } from '../../token/index.ts';
import { sealer } from '../crypto/aes-gcm.ts';
import { b64Text } from '../crypto/base64.ts';
import type { KeyOf, TokenKey } from '../crypto/keys.ts';
import type { Scope } from '../crypto/secrets.ts';
import { diiTypeIn, typeByte } from './advertising-token.ts';
import { getInt32, getInt64, putInt32, putInt64, zeros } from './byte-fields.ts';

const HEAD = 5;
const SEALED_PART = 258;
const TOKEN_LENGTH = HEAD + IV_LENGTH + SEALED_PART + TAG_LENGTH;
const FIELDS = 97;

/** What a refresh token remembers. Instants are epoch ms. */
export interface RefreshToken {
  readonly scope: Scope;
  readonly type: DiiType;
  readonly siteId: number;
  readonly privacyBits: number;
  /** 32 bytes. */
  readonly firstLevel: Uint8Array;
  readonly establishedAt: number;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Key of the answer to the refresh of this token, 32 bytes. */
  readonly responseKey: Bytes;
}

const scopeByte = (scope: Scope): number => typeByte(scope, 'email') & 0xf0;

/** Seal a refresh token: 388 characters. */
export async function sealRefreshToken(token: RefreshToken, key: TokenKey): Promise<string> {
  const part = zeros(SEALED_PART);
  part[0] = typeByte(token.scope, token.type);
  putInt64(part, 1, token.expiresAt);
  putInt64(part, 9, token.createdAt);
  putInt32(part, 17, token.siteId);
  putInt32(part, 21, token.privacyBits);
  putInt64(part, 25, token.establishedAt);
  part.set(token.firstLevel, 33);
  part.set(token.responseKey, 65);

  const head = zeros(HEAD);
  head[0] = scopeByte(token.scope);
  putInt32(head, 1, key.id);
  return b64Text(await sealer.seal(key.secret, part, head));
}

/**
 * Open a refresh token of this operator.
 *
 * @param bytes  the token, out of its base64.
 * @param keyOf  finds the key of a number; undefined where there is none.
 * @returns undefined for whatever is not a refresh token of `scope` under such keys.
 */
export async function openRefreshToken(bytes: Bytes, scope: Scope, keyOf: KeyOf): Promise<RefreshToken | undefined> {
  if (bytes.length !== TOKEN_LENGTH) return undefined;
  const key = bytes[0] === scopeByte(scope) ? keyOf(getInt32(bytes, 1)) : undefined;
  if (!key) return undefined;
  const part = await sealer.open(key.secret, bytes.subarray(HEAD));
  if (!part) return undefined;
  // Another kind of sealed thing under the same key cannot pass: only refresh tokens are sealed under refresh keys.
  if (part[0] !== typeByte(scope, diiTypeIn(part[0]!))) return undefined;
  return {
    scope,
    type: diiTypeIn(part[0]),
    expiresAt: getInt64(part, 1),
    createdAt: getInt64(part, 9),
    siteId: getInt32(part, 17),
    privacyBits: getInt32(part, 21),
    establishedAt: getInt64(part, 25),
    firstLevel: part.subarray(33, 65),
    responseKey: part.subarray(65, FIELDS),
  };
}
