/**
 * AES-256-GCM, and the choice of who computes it: Web Crypto where it exists, else `@noble/ciphers`,
 * fetched on demand. A plain-http page has no `crypto.subtle`; noble is what keeps such a page alive.
 *
 * It knows bytes and keys, not envelopes: `envelope.ts` gives them their meaning.
 */

import type { Bytes } from './bytes.ts';
import { loadNoble } from './noble.ts';

/** A 256-bit key, ready for use: a `CryptoKey` is used by Web Crypto, plain bytes by noble. */
export type AesKey = CryptoKey | Bytes;

const AES = 'AES-GCM';

/** Bytes of the initialisation vector and of the tag. */
export const IV_LENGTH = 12;
export const TAG_LENGTH = 16;

/**
 * Make a key ready for use, by Web Crypto where this page or process has it.
 *
 * @param raw  32 bytes.
 */
export async function aesKey(raw: Bytes): Promise<AesKey> {
  return globalThis.crypto?.subtle ? crypto.subtle.importKey('raw', raw, AES, false, ['encrypt', 'decrypt']) : raw;
}

/**
 * Encrypt and authenticate.
 *
 * @param iv  12 bytes, never used twice with one key; random where left out.
 * @returns   iv[12], ciphertext[n], tag[16]. No additional data.
 */
export async function sealAes(
  key: AesKey,
  plain: Bytes,
  iv: Bytes = crypto.getRandomValues(new Uint8Array(IV_LENGTH)),
): Promise<Bytes> {
  const body =
    key instanceof Uint8Array
      ? (await loadNoble()).gcm(key, iv).encrypt(plain)
      : new Uint8Array(await crypto.subtle.encrypt({ name: AES, iv }, key, plain));
  const sealed = new Uint8Array(IV_LENGTH + body.length);
  sealed.set(iv);
  sealed.set(body, IV_LENGTH);
  return sealed;
}

/**
 * Check and decrypt what {@link sealAes} made.
 *
 * @param sealed  iv[12], ciphertext[n], tag[16].
 * @throws        what the implementation throws where key or bytes are wrong: callers give it its name.
 */
export async function openAes(key: AesKey, sealed: Bytes): Promise<Bytes> {
  const iv = sealed.subarray(0, IV_LENGTH);
  const body = sealed.subarray(IV_LENGTH);
  return key instanceof Uint8Array
    ? ((await loadNoble()).gcm(key, iv).decrypt(body) as Bytes)
    : new Uint8Array(await crypto.subtle.decrypt({ name: AES, iv }, key, body));
}
