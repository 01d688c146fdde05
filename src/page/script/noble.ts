/** In place of `src/token/noble.ts`: a page without Web Crypto fetches `tessera-noble.js` from the directory of the script. */

import type { Bytes } from '../../token/bytes.ts';
import { scriptTag } from '../clobbering.ts';

interface Noble {
  gcm(key: Bytes, iv: Bytes): { encrypt(plain: Bytes): Bytes; decrypt(sealed: Bytes): Bytes };
}

/** A `<base>` that is added later must not move it. */
const source = scriptTag?.src;

let failures = 0;

/**
 * The URL is absolute: a classic script from another origin has no base URL for a relative import. Its fragment is new after a failure:
 * Firefox does not fetch a module again from the same URL while the page lives.
 */
export async function loadNoble(): Promise<Noble> {
  try {
    return await import(/* @vite-ignore */ `${new URL(`tessera-noble.js#${failures}`, source || location.href)}`);
  } catch (error) {
    failures++;
    throw error;
  }
}
