/**
 * Replaces `src/token/noble.ts` in `tessera.js` and `tessera-uid2.js`: fetches `tessera-noble.js` from the directory of the
 * script, only on a page without Web Crypto.
 *
 * The URL is absolute: a classic script from another origin has no base URL for a relative import.
 */

import type { Bytes } from '../token/bytes.ts';
import { scriptTag } from './clobbering.ts';

/** The part of `tessera-noble.js` that `src/token/cipher.ts` uses. */
interface Noble {
  gcm(key: Bytes, iv: Bytes): { encrypt(plain: Bytes): Bytes; decrypt(sealed: Bytes): Bytes };
}

/** Where the script was loaded from. A `<base>` that is added later must not move it. */
const source = scriptTag?.src;

let failures = 0;

/**
 * Import the file. After a failure, Firefox does not fetch a module again from the same URL while the page lives, so the fragment
 * makes a new URL.
 */
export async function loadNoble(): Promise<Noble> {
  try {
    return await import(/* @vite-ignore */ `${new URL(`tessera-noble.js#${failures}`, source || location.href)}`);
  } catch (error) {
    failures++;
    throw error;
  }
}
