/**
 * The advertising token, version 4: what the ecosystem's bidder libraries open.
 *
 * | level | layout |
 * |---|---|
 * | token | type[1] (scope x 16 + kind of DII x 4 + 3), version 128 [1], master key id[4], sealed master part |
 * | master part | expires[8], created[8], operator block[13], site key id[4], sealed site part |
 * | site part | site id[4], publisher id[8] = 0, client key id[4] = 0, privacy bits[4], established[8], refreshed[8], raw ID[32 or 33] |
 *
 * Sealed: iv[12], ciphertext, tag[16], AES-256-GCM without additional data. Instants are epoch ms. The text is
 * URL-safe base64 without padding. The operator block is 0, 1, 0, 0 (site, kind "service", version, key).
 *
 * @see shared wire facts 6.1 and 6.2
 */

import { type Bytes, fromB64Url } from '../../token/bytes.ts';
import type { DiiType } from '../../token/index.ts';
import { sealer } from '../crypto/aes-gcm.ts';
import { b64UrlText } from '../crypto/base64.ts';
import type { TokenKey } from '../crypto/keys.ts';
import type { Scope } from '../crypto/secrets.ts';
import { getInt32, getInt64, putInt32, putInt64, zeros } from './byte-fields.ts';

const VERSION = 128;
// The operator block is zeros but for this: its kind is "service".
const OPERATOR_KIND = 1;
// Bytes from the start of a level to its sealed part, and of the smallest site part.
const TOKEN_HEAD = 6;
const MASTER_HEAD = 33;
const SITE_HEAD = 36;
const RAW_ID_LENGTHS = [32, 33];

/** Privacy bits of a token from generate: the legacy bit alone. */
export const PRIVACY_BITS = 1;

/** What an advertising token says. Instants are epoch ms. */
export interface AdvertisingToken {
  readonly scope: Scope;
  readonly type: DiiType;
  readonly siteId: number;
  readonly privacyBits: number;
  readonly rawId: Uint8Array;
  /** When the user's first token was generated; refreshes keep it. */
  readonly establishedAt: number;
  /** When this token was issued. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** First byte of a token: scope and kind of DII. */
export function typeByte(scope: Scope, type: DiiType): number {
  return (scope === 'EUID' ? 0x10 : 0) | (type === 'phone' ? 0x04 : 0) | 0x03;
}

const scopeIn = (byte: number): Scope => (byte & 0x10 ? 'EUID' : 'UID2');
/** Kind of DII that a type byte tells of. */
export function diiTypeIn(byte: number): DiiType {
  return byte & 0x04 ? 'phone' : 'email';
}

/** Seal an advertising token: 218 characters for a raw ID of 32 bytes. */
export async function sealAdvertisingToken(
  token: AdvertisingToken,
  keys: { master: TokenKey; site: TokenKey },
): Promise<string> {
  const site = zeros(SITE_HEAD + token.rawId.length);
  putInt32(site, 0, token.siteId);
  putInt32(site, 16, token.privacyBits);
  putInt64(site, 20, token.establishedAt);
  putInt64(site, 28, token.createdAt);
  site.set(token.rawId, SITE_HEAD);

  const master = zeros(MASTER_HEAD);
  putInt64(master, 0, token.expiresAt);
  putInt64(master, 8, token.createdAt);
  master[20] = OPERATOR_KIND;
  putInt32(master, 29, keys.site.id);

  const head = zeros(TOKEN_HEAD);
  head[0] = typeByte(token.scope, token.type);
  head[1] = VERSION;
  putInt32(head, 2, keys.master.id);
  const inner = await sealer.seal(keys.site.secret, site, master);
  return b64UrlText(await sealer.seal(keys.master.secret, inner, head));
}

/** An opened token, and the number of the key that sealed its site part. */
export interface OpenedAdvertisingToken extends AdvertisingToken {
  readonly siteKeyId: number;
}

const open = async (key: { readonly secret: Bytes } | undefined, sealed: Bytes): Promise<Bytes | undefined> =>
  key && (await sealer.open(key.secret, sealed));

const bytesOf = (text: string): Bytes | undefined => {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  try {
    return fromB64Url(text);
  } catch {
    return undefined;
  }
};

/**
 * Open an advertising token.
 *
 * @param keyOf  finds the key of a number; undefined where there is none.
 * @returns undefined for whatever is not such a token under such keys.
 */
export async function openAdvertisingToken(
  text: string,
  keyOf: (id: number) => { readonly secret: Bytes } | undefined,
): Promise<OpenedAdvertisingToken | undefined> {
  const bytes = bytesOf(text);
  if (!bytes || bytes.length < TOKEN_HEAD || bytes[1] !== VERSION) return undefined;
  const master = await open(keyOf(getInt32(bytes, 2)), bytes.subarray(TOKEN_HEAD));
  if (!master || master.length < MASTER_HEAD) return undefined;
  const siteKeyId = getInt32(master, 29);
  const site = await open(keyOf(siteKeyId), master.subarray(MASTER_HEAD));
  if (!site || !RAW_ID_LENGTHS.includes(site.length - SITE_HEAD)) return undefined;
  return {
    scope: scopeIn(bytes[0]!),
    type: diiTypeIn(bytes[0]!),
    siteId: getInt32(site, 0),
    privacyBits: getInt32(site, 16),
    rawId: site.subarray(SITE_HEAD),
    establishedAt: getInt64(site, 20),
    createdAt: getInt64(master, 8),
    expiresAt: getInt64(master, 0),
    siteKeyId,
  };
}
