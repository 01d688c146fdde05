/**
 * What Node has beyond the web platform, and Bun, Deno and some edge hosts with it: a crypto that answers at once, and
 * memory by the spoonful. Asking the process for it keeps this room free of Node: elsewhere it is undefined, and
 * everything is done by what every host has.
 */

import { type Bytes, utf8 } from '../../token/bytes.ts';

interface NodeCipher {
  update(bytes: Uint8Array): Bytes;
  final(): Uint8Array;
}

/** As much of `node:crypto` as is used here. */
export interface NodeCrypto {
  createCipheriv(algorithm: 'aes-256-gcm', key: Uint8Array, iv: Uint8Array): NodeCipher & { getAuthTag(): Uint8Array };
  createDecipheriv(
    algorithm: 'aes-256-gcm',
    key: Uint8Array,
    iv: Uint8Array,
  ): NodeCipher & { setAuthTag(tag: Uint8Array): unknown };
}

/** Bytes in Node's memory. */
export type NodeBytes = Bytes & { toString(encoding: 'base64' | 'base64url'): string };

/** As much of Node's `Buffer` as is used here. */
export interface NodeBuffer {
  allocUnsafe(length: number): NodeBytes;
  from(bytes: Uint8Array): NodeBytes;
  from(text: string, encoding: 'utf8'): NodeBytes;
  isBuffer(bytes: Uint8Array): boolean;
}

const builtin = (name: string): unknown => {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  return process?.getBuiltinModule?.(name);
};

export const nodeCrypto = builtin('node:crypto') as NodeCrypto | undefined;
export const nodeBuffer = (builtin('node:buffer') as { Buffer: NodeBuffer } | undefined)?.Buffer;

/**
 * Room for so many bytes, all of which are to be written: they hold anything. Node cuts it from a larger piece, since
 * typed arrays of more than 64 bytes cost five times as much to make, and as much again to be collected.
 */
export const room: (length: number) => Bytes = nodeBuffer
  ? (length) => nodeBuffer.allocUnsafe(length)
  : (length) => new Uint8Array(length);

/** UTF-8 bytes of `text`. */
export const textBytes: (text: string) => Bytes = nodeBuffer ? (text) => nodeBuffer.from(text, 'utf8') : utf8;
