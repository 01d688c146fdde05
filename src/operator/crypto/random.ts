/** Random bytes from a pool, because one call of `getRandomValues` takes as long for 12 bytes as for 4096. */

import type { Bytes } from '../../token/bytes.ts';

const pool = new Uint8Array(4096);
let used = pool.length;

/** Return `length` random bytes, at most 4096. No byte of the pool is returned twice. */
export function randomBytes(length: number): Bytes {
  if (used + length > pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const bytes = pool.slice(used, used + length);
  // Some of these bytes become keys, so the pool keeps no copy.
  pool.fill(0, used, used + length);
  used += length;
  return bytes;
}
