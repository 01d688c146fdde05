/**
 * AES-GCM for pages without Web Crypto, as distributed with the script-tag files: `tessera-noble.js` is this module, and
 * `tessera.full.js` contains it in place of `src/token/noble.ts`.
 */

import { gcm } from '@noble/ciphers/aes.js';
import type { Noble } from '../src/token/noble.ts';

export { gcm };

export async function loadNoble(): Promise<Noble> {
  return { gcm };
}
