/**
 * Replaces `src/token/noble.ts` in script-tag files that contain AES-GCM for pages without Web Crypto: `import()` within one file
 * takes helpers of the bundler, which fail on a page on which another script has set members of `Object.prototype`.
 */

import { gcm } from '../src/token/noble-gcm.ts';

export async function loadNoble() {
  return { gcm };
}
