/** AES-256-GCM, with Web Crypto or, on plain-http pages and some webviews without it, `@noble/ciphers`, loaded on demand. */

import type { Bytes } from './bytes.ts';
import { ownMembers } from './checks.ts';
import { loadNoble } from './noble.ts';

/**
 * A 256-bit key: a `CryptoKey` if Web Crypto exists, otherwise the 32 bytes, which noble uses. Node's types have no global
 * `CryptoKey`, so the type is derived from `importKey`.
 */
export type AesKey = Awaited<ReturnType<typeof crypto.subtle.importKey>> | Bytes;

const AES = 'AES-GCM';

/** Lengths of the initialisation vector and of the tag, bytes. */
export const IV_LENGTH = 12;
export const TAG_LENGTH = 16;
/** The shortest result of {@link sealAes}, for an empty plaintext: 28 bytes. */
export const MIN_SEALED_LENGTH = IV_LENGTH + TAG_LENGTH;

/**
 * Import a key of 32 bytes into Web Crypto if it exists; otherwise return it unchanged.
 *
 * @throws     the error of Web Crypto for another length.
 * @example const key = await aesKey(fromB64(clientSecret));
 */
export async function aesKey(raw: Bytes): Promise<AesKey> {
  return globalThis.crypto?.subtle ? crypto.subtle.importKey('raw', raw, AES, false, ['encrypt', 'decrypt']) : raw;
}

/** Without members that a link has set in `Object.prototype`; Node inherits them again, so the length of the tag is given. */
function parametersOf(iv: Bytes) {
  return ownMembers<AesGcmParams>({ name: AES, iv, tagLength: 128 });
}

/**
 * Encrypt n bytes without additional data: iv[12], ciphertext[n], tag[16].
 *
 * @param iv  12 bytes, never used twice with one key. Default: random.
 */
export async function sealAes(
  key: AesKey,
  plain: Bytes,
  iv: Bytes = crypto.getRandomValues(new Uint8Array(IV_LENGTH)),
): Promise<Bytes> {
  const body =
    key instanceof Uint8Array
      ? (await loadNoble()).gcm(key, iv).encrypt(plain)
      : new Uint8Array(await crypto.subtle.encrypt(parametersOf(iv), key, plain));
  const sealed = new Uint8Array(IV_LENGTH + body.length);
  sealed.set(iv);
  sealed.set(body, IV_LENGTH);
  return sealed;
}

/**
 * Verify and decrypt iv[12], ciphertext[n], tag[16].
 *
 * @throws  the error of the implementation for a wrong key or altered bytes; `envelope.ts` turns it into a `TokenError`.
 */
export async function openAes(key: AesKey, sealed: Bytes): Promise<Bytes> {
  const iv = sealed.subarray(0, IV_LENGTH);
  const body = sealed.subarray(IV_LENGTH);
  return key instanceof Uint8Array
    ? ((await loadNoble()).gcm(key, iv).decrypt(body) as Bytes)
    : new Uint8Array(await crypto.subtle.decrypt(parametersOf(iv), key, body));
}
