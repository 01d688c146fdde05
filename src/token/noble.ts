/**
 * The only import of `@noble/ciphers`. The script-tag builds replace this module through an alias in `vite.config.ts`, so it does
 * nothing else.
 */

export type Noble = Pick<typeof import('@noble/ciphers/aes.js'), 'gcm'>;

/** Load AES-GCM in JavaScript, for pages without Web Crypto. */
export function loadNoble(): Promise<Noble> {
  return import('@noble/ciphers/aes.js');
}
