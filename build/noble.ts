/** `dist/tessera-noble.js`: AES-GCM for pages without Web Crypto, fetched from beside `dist/tessera.js` when needed. */
export { gcm } from '@noble/ciphers/aes.js';
