/**
 * Node's synchronous crypto and pooled buffers, if the host has them (Node, Bun, Deno, some edge hosts).
 *
 * `process.getBuiltinModule` finds them without importing `node:`, so the operator also loads on hosts that lack them. There,
 * both are undefined and the callers use what every host has.
 */

import { type Bytes, utf8 } from '../../token/bytes.ts';

interface NodeCipher {
  update(bytes: Uint8Array): Bytes;
  final(): Uint8Array;
}

/** The part of `node:crypto` that the operator uses. */
export interface NodeCrypto {
  createCipheriv(algorithm: 'aes-256-gcm', key: Uint8Array, iv: Uint8Array): NodeCipher & { getAuthTag(): Uint8Array };
  createDecipheriv(
    algorithm: 'aes-256-gcm',
    key: Uint8Array,
    iv: Uint8Array,
  ): NodeCipher & { setAuthTag(tag: Uint8Array): unknown };
}

export type NodeBytes = Bytes & { toString(encoding: 'base64' | 'base64url'): string };

/** The part of Node's `Buffer` that the operator uses. */
export interface NodeBuffer {
  allocUnsafe(length: number): NodeBytes;
  from(bytes: Uint8Array): NodeBytes;
  from(text: string, encoding: 'utf8'): NodeBytes;
  isBuffer(bytes: Uint8Array): boolean;
}

function builtin(name: string): unknown {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  return process?.getBuiltinModule?.(name);
}

export const nodeCrypto = builtin('node:crypto') as NodeCrypto | undefined;
const buffer = (builtin('node:buffer') as { Buffer: NodeBuffer } | undefined)?.Buffer;
/**
 * Vitest's jsdom environment replaces `Uint8Array` with that of another realm. A Buffer is not an instance of it, so
 * `@noble/hashes` rejects a Buffer.
 */
export const nodeBuffer = buffer?.allocUnsafe(0) instanceof Uint8Array ? buffer : undefined;

/**
 * Allocate bytes with arbitrary content, all of which the caller must write.
 *
 * Node takes them from a pool. Allocating a typed array of more than 64 bytes takes five times as long.
 */
export const allocate: (length: number) => Bytes = nodeBuffer
  ? (length) => nodeBuffer.allocUnsafe(length)
  : (length) => new Uint8Array(length);

export const utf8Bytes: (text: string) => Bytes = nodeBuffer ? (text) => nodeBuffer.from(text, 'utf8') : utf8;
