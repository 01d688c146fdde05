/**
 * AES-GCM in JavaScript, and nothing else of `@noble/ciphers`, which only this file imports. A bundler leaves out what a static
 * import does not name, but keeps every export of a module that is imported on demand: so `noble.ts` imports this module on demand.
 *
 * `tessera-noble.js` is this module.
 */

export { gcm } from '@noble/ciphers/aes.js';
