/**
 * AES-256-GCM for messages as short as a token, under keys that the operator holds as bytes.
 *
 * A host with Node's own crypto does it at once, in 3 us; Web Crypto takes 40 us for the way to another thread and
 * back, noble 17. A refresh takes five of them. A host that has no such thing computes with noble. Long messages belong
 * to Web Crypto, which leaves this thread alone.
 *
 * Sealed, as everywhere: iv[12], ciphertext, tag[16], no additional data.
 */

import { type Bytes, concat } from '../../token/bytes.ts';
import { IV_LENGTH, openAes, sealAes, TAG_LENGTH } from '../../token/cipher.ts';
import type { NodeCrypto } from './node-builtins.ts';
import { nodeCrypto, room } from './node-builtins.ts';
import { randomBytes } from './random.ts';

const AES = 'aes-256-gcm';
const NOTHING = new Uint8Array();

/** Seals and opens under keys of 32 bytes. */
export interface Sealer {
  /** Seal `plain`; `head` goes before it as it is. */
  seal(key: Bytes, plain: Bytes, head?: Bytes): Bytes | Promise<Bytes>;
  /** Resolves with undefined where key or bytes are wrong. */
  open(key: Bytes, sealed: Bytes): Bytes | undefined | Promise<Bytes | undefined>;
}

/** By Node's crypto. */
export function nativeSealer(crypto: NodeCrypto): Sealer {
  return {
    seal: (key, plain, head = NOTHING) => {
      const iv = randomBytes(IV_LENGTH);
      const cipher = crypto.createCipheriv(AES, key, iv);
      const at = head.length + IV_LENGTH;
      const whole = room(at + plain.length + TAG_LENGTH);
      whole.set(head);
      whole.set(iv, head.length);
      whole.set(cipher.update(plain), at);
      // The end of the stream; of this kind of cipher nothing is left for it.
      cipher.final();
      whole.set(cipher.getAuthTag(), at + plain.length);
      return whole;
    },
    open: (key, sealed) => {
      if (sealed.length < IV_LENGTH + TAG_LENGTH) return undefined;
      const end = sealed.length - TAG_LENGTH;
      const decipher = crypto.createDecipheriv(AES, key, sealed.subarray(0, IV_LENGTH));
      decipher.setAuthTag(sealed.subarray(end));
      try {
        const { buffer, byteOffset, length } = decipher.update(sealed.subarray(IV_LENGTH, end));
        decipher.final();
        // No Buffer, whose `slice` is not the one that others expect.
        return new Uint8Array(buffer, byteOffset, length);
      } catch {
        return undefined;
      }
    },
  };
}

/** By whatever the token room computes with where it is given plain bytes for a key. */
export const portableSealer: Sealer = {
  seal: async (key, plain, head = NOTHING) => concat(head, await sealAes(key, plain, randomBytes(IV_LENGTH))),
  open: (key, sealed) => openAes(key, sealed).catch(() => undefined),
};

/** The faster one of those that this host has. */
export const sealer: Sealer = nodeCrypto ? nativeSealer(nodeCrypto) : portableSealer;
