/** Random bytes, fetched by the page: asking for twelve costs as much as asking for four thousand. */

import type { Bytes } from '../../token/bytes.ts';

const pool = new Uint8Array(4096);
let used = pool.length;

/** So many random bytes, 4096 at most; never the same twice. */
export function randomBytes(length: number): Bytes {
  if (used + length > pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const bytes = pool.slice(used, used + length);
  // Given away, so not left lying about: some of them become keys.
  pool.fill(0, used, used + length);
  used += length;
  return bytes;
}
