/**
 * AES-256-GCM for short messages under keys in bytes: iv[12], ciphertext[n], tag[16], without additional data.
 *
 * Node's crypto takes 3 us, noble 17 us, Web Crypto 40 us, mostly to reach another thread; a refresh needs five such operations.
 * Long messages go through Web Crypto (`token/cipher.ts`), which does not block this thread.
 */

import { type Bytes, concat } from '../../token/bytes.ts';
import { IV_LENGTH, MIN_SEALED_LENGTH, openAes, sealAes, TAG_LENGTH } from '../../token/cipher.ts';
import { allocate, type NodeCrypto, nodeCrypto } from './node-builtins.ts';
import { randomBytes } from './random.ts';

const ALGORITHM = 'aes-256-gcm';
const NO_BYTES = new Uint8Array();

/** Encryption under keys of 32 bytes. */
export interface AesGcm {
  /** Encrypt `plain` under a random IV. `head` precedes the result, unencrypted. */
  seal(key: Bytes, plain: Bytes, head?: Bytes): Bytes | Promise<Bytes>;
  /** Decrypt sealed bytes without their head; undefined if the key or the bytes are wrong. */
  open(key: Bytes, sealed: Bytes): Bytes | undefined | Promise<Bytes | undefined>;
}

export function createNodeAesGcm(crypto: NodeCrypto): AesGcm {
  return {
    seal: (key, plain, head = NO_BYTES) => {
      const iv = randomBytes(IV_LENGTH);
      const cipher = crypto.createCipheriv(ALGORITHM, key, iv);
      const start = head.length + IV_LENGTH;
      const sealed = allocate(start + plain.length + TAG_LENGTH);
      sealed.set(head);
      sealed.set(iv, head.length);
      sealed.set(cipher.update(plain), start);
      // GCM is a stream cipher: `update` has returned all bytes, but the tag exists only after `final`.
      cipher.final();
      sealed.set(cipher.getAuthTag(), start + plain.length);
      return sealed;
    },
    open: (key, sealed) => {
      if (sealed.length < MIN_SEALED_LENGTH) return undefined;
      const end = sealed.length - TAG_LENGTH;
      const decipher = crypto.createDecipheriv(ALGORITHM, key, sealed.subarray(0, IV_LENGTH));
      decipher.setAuthTag(sealed.subarray(end));
      try {
        const { buffer, byteOffset, length } = decipher.update(sealed.subarray(IV_LENGTH, end));
        decipher.final();
        // A plain Uint8Array, because `slice` of a Buffer shares its memory, which callers do not expect.
        return new Uint8Array(buffer, byteOffset, length);
      } catch {
        return undefined;
      }
    },
  };
}

/** Encrypt with noble, on any host: `sealAes` and `openAes` use it for keys in plain bytes. */
export const portableAesGcm: AesGcm = {
  seal: async (key, plain, head = NO_BYTES) => concat(head, await sealAes(key, plain, randomBytes(IV_LENGTH))),
  open: (key, sealed) => openAes(key, sealed).catch(() => undefined),
};

export const aesGcm: AesGcm = nodeCrypto ? createNodeAesGcm(nodeCrypto) : portableAesGcm;
