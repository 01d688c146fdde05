/** AES-GCM in JavaScript, `tessera-noble.js`: alone, because a bundler keeps every export of a module imported on demand. */

export { gcm } from '@noble/ciphers/aes.js';
