/**
 * The refresh token: everything that a refresh needs, so the operator does not store tokens (docs/protocol.md, "Tokens").
 *
 * | offset | size | content |
 * |---|---|---|
 * | 0 | 1 | scope x 16 |
 * | 1 | 4 | refresh key ID |
 * | 5 | 12 + 258 + 16 | iv, ciphertext and tag of the sealed part, AES-256-GCM |
 *
 * Sealed part: type[1], expires[8], created[8], site ID[4], privacy bits[4], established[8], first-level hash[32], response
 * key[32], zeros up to 258 bytes. The token is standard base64 and always 388 characters: clients recognise by this length that
 * the answer to a refresh is encrypted. These fields are this operator's own.
 */

import type { Bytes } from '../../token/bytes.ts';
import { IV_LENGTH, TAG_LENGTH } from '../../token/cipher.ts';
import type { DiiType } from '../../token/index.ts';
import { aesGcm } from '../crypto/aes-gcm.ts';
import { encodeB64 } from '../crypto/base64.ts';
import type { FindKey, TokenKey } from '../crypto/keys.ts';
import type { Scope } from '../crypto/secrets.ts';
import { diiTypeOfByte, typeByte } from './advertising-token.ts';
import { readInt32, readInt64, writeInt32, writeInt64, zeroBytes } from './byte-fields.ts';

const HEAD = 5;
const SEALED_PART = 258;
const TOKEN_LENGTH = HEAD + IV_LENGTH + SEALED_PART + TAG_LENGTH;
const FIELDS_END = 97;

/** Content of a refresh token. Instants are epoch ms. */
export interface RefreshToken {
  readonly scope: Scope;
  readonly type: DiiType;
  readonly siteId: number;
  readonly privacyBits: number;
  /** First-level hash of the user, 32 bytes. */
  readonly firstLevel: Uint8Array;
  /** When the user's first token was generated. Refreshes preserve it. */
  readonly establishedAt: number;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Key that seals the answer to the refresh of this token, 32 bytes. */
  readonly responseKey: Bytes;
}

function scopeByte(scope: Scope): number {
  return typeByte(scope, 'email') & 0xf0;
}

export async function sealRefreshToken(token: RefreshToken, key: TokenKey): Promise<string> {
  const part = zeroBytes(SEALED_PART);
  part[0] = typeByte(token.scope, token.type);
  writeInt64(part, 1, token.expiresAt);
  writeInt64(part, 9, token.createdAt);
  writeInt32(part, 17, token.siteId);
  writeInt32(part, 21, token.privacyBits);
  writeInt64(part, 25, token.establishedAt);
  part.set(token.firstLevel, 33);
  part.set(token.responseKey, 65);

  const head = zeroBytes(HEAD);
  head[0] = scopeByte(token.scope);
  writeInt32(head, 1, key.id);
  return encodeB64(await aesGcm.seal(key.secret, part, head));
}

/**
 * @param bytes  decoded from base64.
 * @returns      undefined if they are not a refresh token of `scope`, or if these keys do not open it.
 */
export async function openRefreshToken(
  bytes: Bytes,
  scope: Scope,
  findKey: FindKey,
): Promise<RefreshToken | undefined> {
  if (bytes.length !== TOKEN_LENGTH) return undefined;
  const key = bytes[0] === scopeByte(scope) ? findKey(readInt32(bytes, 1)) : undefined;
  if (!key) return undefined;
  const part = await aesGcm.open(key.secret, bytes.subarray(HEAD));
  if (!part) return undefined;
  // Refresh keys seal only refresh tokens, so no field except the type byte needs a check.
  if (part[0] !== typeByte(scope, diiTypeOfByte(part[0]!))) return undefined;
  return {
    scope,
    type: diiTypeOfByte(part[0]),
    expiresAt: readInt64(part, 1),
    createdAt: readInt64(part, 9),
    siteId: readInt32(part, 17),
    privacyBits: readInt32(part, 21),
    establishedAt: readInt64(part, 25),
    firstLevel: part.subarray(33, 65),
    responseKey: part.subarray(65, FIELDS_END),
  };
}
