/** Node's synchronous crypto and pooled buffers; undefined on hosts that lack them, where an import of `node:` would fail. */

import { type Bytes, utf8 } from '../../token/bytes.ts';

interface NodeCipher {
  update(bytes: Uint8Array): Bytes;
  final(): Uint8Array;
}

export interface NodeCrypto {
  createCipheriv(algorithm: 'aes-256-gcm', key: Uint8Array, iv: Uint8Array): NodeCipher & { getAuthTag(): Uint8Array };
  createDecipheriv(
    algorithm: 'aes-256-gcm',
    key: Uint8Array,
    iv: Uint8Array,
  ): NodeCipher & { setAuthTag(tag: Uint8Array): unknown };
}

export type NodeBytes = Bytes & { toString(encoding: 'base64' | 'base64url'): string };

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
/** Vitest's jsdom replaces `Uint8Array` with that of another realm. There, `@noble/hashes` rejects a Buffer. */
export const nodeBuffer = buffer?.allocUnsafe(0) instanceof Uint8Array ? buffer : undefined;

/** Bytes with arbitrary content, all to be written. From Node's pool: a typed array above 64 bytes takes five times as long. */
export const allocate: (length: number) => Bytes = nodeBuffer
  ? (length) => nodeBuffer.allocUnsafe(length)
  : (length) => new Uint8Array(length);

export const utf8Bytes: (text: string) => Bytes = nodeBuffer ? (text) => nodeBuffer.from(text, 'utf8') : utf8;
