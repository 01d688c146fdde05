/** Big-endian integers at fixed offsets: the fields of a token before it is sealed or after it is opened. */

import type { Bytes } from '../../token/bytes.ts';
import { allocate } from '../crypto/node-builtins.ts';

export function zeroBytes(length: number): Bytes {
  return allocate(length).fill(0);
}

export function writeInt32(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value >> 24;
  bytes[offset + 1] = value >> 16;
  bytes[offset + 2] = value >> 8;
  bytes[offset + 3] = value;
}

/** Write a signed 64-bit integer at `offset`; `value` is a safe integer, such as an instant in ms. */
export function writeInt64(bytes: Uint8Array, offset: number, value: number): void {
  writeInt32(bytes, offset, Math.floor(value / 2 ** 32));
  writeInt32(bytes, offset + 4, value >>> 0);
}

export function readInt32(bytes: Uint8Array, offset: number): number {
  return (bytes[offset]! << 24) | (bytes[offset + 1]! << 16) | (bytes[offset + 2]! << 8) | bytes[offset + 3]!;
}

export function readInt64(bytes: Uint8Array, offset: number): number {
  return readInt32(bytes, offset) * 2 ** 32 + (readInt32(bytes, offset + 4) >>> 0);
}
