/**
 * The advertising token, version 4, which the UID2 libraries of bidders open (docs/protocol.md, "Tokens").
 *
 * | level | fields |
 * |---|---|
 * | token | type[1] (scope x 16 + DII type x 4 + 3), version 128 [1], master key ID[4], sealed master part |
 * | master part | expires[8], created[8], operator block[13], site key ID[4], sealed site part |
 * | site part | site ID[4], publisher ID[8] = 0, client key ID[4] = 0, privacy bits[4], established[8], refreshed[8], raw ID[32 or 33] |
 *
 * Scope: 0 UID2, 1 EUID; DII type: 0 email, 1 phone. Operator block: site ID[4] = 0, operator type[1] = 1 ("service"), version[4]
 * = 0, key ID[4] = 0. Sealed: iv[12], ciphertext, tag[16], AES-256-GCM without additional data. Integers are big-endian, instants
 * epoch ms. The token is URL-safe base64 without padding.
 */

import { type Bytes, fromB64Url } from '../../token/bytes.ts';
import type { DiiType } from '../../token/index.ts';
import { aesGcm } from '../crypto/aes-gcm.ts';
import { encodeB64Url } from '../crypto/base64.ts';
import type { TokenKey } from '../crypto/keys.ts';
import type { Scope } from '../crypto/secrets.ts';
import { readInt32, readInt64, writeInt32, writeInt64, zeroBytes } from './byte-fields.ts';

const VERSION = 128;
const OPERATOR_TYPE_SERVICE = 1;
/** Number of bytes before the sealed part of the token, before that of the master part, and before the raw ID in the site part. */
const TOKEN_HEAD = 6;
const MASTER_HEAD = 33;
const SITE_HEAD = 36;
const RAW_ID_LENGTHS = [32, 33];

/** Privacy bits of a generated token: only the legacy bit is set. */
export const PRIVACY_BITS = 1;

/** Content of an advertising token. Instants are epoch ms. */
export interface AdvertisingToken {
  readonly scope: Scope;
  readonly type: DiiType;
  readonly siteId: number;
  readonly privacyBits: number;
  readonly rawId: Uint8Array;
  /** When the user's first token was generated. Refreshes preserve it. */
  readonly establishedAt: number;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export function typeByte(scope: Scope, type: DiiType): number {
  return (scope === 'EUID' ? 0x10 : 0) | (type === 'phone' ? 0x04 : 0) | 0x03;
}

export function diiTypeOfByte(byte: number): DiiType {
  return byte & 0x04 ? 'phone' : 'email';
}

function scopeOfByte(byte: number): Scope {
  return byte & 0x10 ? 'EUID' : 'UID2';
}

/** Seal an advertising token: 218 characters for a raw ID of 32 bytes. */
export async function sealAdvertisingToken(
  token: AdvertisingToken,
  keys: { master: TokenKey; site: TokenKey },
): Promise<string> {
  const site = zeroBytes(SITE_HEAD + token.rawId.length);
  writeInt32(site, 0, token.siteId);
  writeInt32(site, 16, token.privacyBits);
  writeInt64(site, 20, token.establishedAt);
  writeInt64(site, 28, token.createdAt);
  site.set(token.rawId, SITE_HEAD);

  const master = zeroBytes(MASTER_HEAD);
  writeInt64(master, 0, token.expiresAt);
  writeInt64(master, 8, token.createdAt);
  master[20] = OPERATOR_TYPE_SERVICE;
  writeInt32(master, 29, keys.site.id);

  const head = zeroBytes(TOKEN_HEAD);
  head[0] = typeByte(token.scope, token.type);
  head[1] = VERSION;
  writeInt32(head, 2, keys.master.id);
  const masterPart = await aesGcm.seal(keys.site.secret, site, master);
  return encodeB64Url(await aesGcm.seal(keys.master.secret, masterPart, head));
}

async function open(key: { readonly secret: Bytes } | undefined, sealed: Bytes): Promise<Bytes | undefined> {
  return key && (await aesGcm.open(key.secret, sealed));
}

function decodeToken(text: string): Bytes | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  try {
    return fromB64Url(text);
  } catch {
    return undefined;
  }
}

/** @returns  undefined if `text` is not an advertising token, or if these keys do not open it. */
export async function openAdvertisingToken(
  text: string,
  findKey: (id: number) => { readonly secret: Bytes } | undefined,
): Promise<(AdvertisingToken & { readonly siteKeyId: number }) | undefined> {
  const bytes = decodeToken(text);
  if (!bytes || bytes.length < TOKEN_HEAD || bytes[1] !== VERSION) return undefined;
  const master = await open(findKey(readInt32(bytes, 2)), bytes.subarray(TOKEN_HEAD));
  if (!master || master.length < MASTER_HEAD) return undefined;
  const siteKeyId = readInt32(master, 29);
  const site = await open(findKey(siteKeyId), master.subarray(MASTER_HEAD));
  if (!site || !RAW_ID_LENGTHS.includes(site.length - SITE_HEAD)) return undefined;
  return {
    scope: scopeOfByte(bytes[0]!),
    type: diiTypeOfByte(bytes[0]!),
    siteId: readInt32(site, 0),
    privacyBits: readInt32(site, 16),
    rawId: site.subarray(SITE_HEAD),
    establishedAt: readInt64(site, 20),
    createdAt: readInt64(master, 8),
    expiresAt: readInt64(master, 0),
    siteKeyId,
  };
}
