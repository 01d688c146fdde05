/**
 * Stands for the import of `@noble/ciphers/aes.js` in the build of the script tag: fetches `tessera-noble.js` from beside the
 * script's own file, only where a page has no Web Crypto.
 *
 * The address is absolute: a classic script from another origin has no base address for a relative import.
 */

import type { Bytes } from '../token/bytes.ts';
import { scriptTag } from './clobbering.ts';

/** The part of it that is used: AES-GCM. */
interface Noble {
  gcm(key: Bytes, iv: Bytes): { encrypt(plain: Bytes): Bytes; decrypt(sealed: Bytes): Bytes };
}

/** Fetch it. */
export function load(): Promise<Noble> {
  return import(/* @vite-ignore */ `${new URL('tessera-noble.js', scriptTag?.src || location.href)}`);
}
