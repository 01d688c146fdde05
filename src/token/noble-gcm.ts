/**
 * AES-GCM in JavaScript; `tessera-noble.js` is this module. A bundler keeps every export of a module that is imported on demand,
 * so `noble.ts` imports this one, and not `@noble/ciphers`.
 */

export { gcm } from '@noble/ciphers/aes.js';
