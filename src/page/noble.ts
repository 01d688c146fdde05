/**
 * Stands for `@noble/ciphers/aes.js` in the build of the script tag: fetches `tessera-noble.js` from beside the
 * script's own file, only where a page has no Web Crypto.
 *
 * The address is absolute: a classic script from another origin has no base address for a relative import.
 */

import type { Bytes } from '../token/bytes.ts';
import { scriptTag } from './script-url.ts';

/** AES-GCM as noble has it, except that it arrives as a promise. */
export const gcm = async (key: Bytes, iv: Bytes) => {
  const url = `${new URL('tessera-noble.js', scriptTag?.src || location.href)}`;
  return (await import(/* @vite-ignore */ url)).gcm(key, iv);
};
