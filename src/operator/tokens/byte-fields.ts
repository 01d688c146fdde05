/** Bytes laid out by offset: what a token is before it is sealed, and after it has been opened. Big-endian. */

import type { Bytes } from '../../token/bytes.ts';
import { room } from '../crypto/node-builtins.ts';

/** So many zeros to write on. */
export function zeros(length: number): Bytes {
  return room(length).fill(0);
}

/** Write a signed 32-bit integer at `at`. */
export function putInt32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >> 24;
  bytes[at + 1] = value >> 16;
  bytes[at + 2] = value >> 8;
  bytes[at + 3] = value;
}

/** Write a signed 64-bit integer at `at`; `value` is a safe integer, an instant in ms. */
export function putInt64(bytes: Uint8Array, at: number, value: number): void {
  putInt32(bytes, at, Math.floor(value / 2 ** 32));
  putInt32(bytes, at + 4, value >>> 0);
}

/** Read a signed 32-bit integer at `at`. */
export function getInt32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
}

/** Read a signed 64-bit integer at `at`, as a number. */
export function getInt64(bytes: Uint8Array, at: number): number {
  return getInt32(bytes, at) * 2 ** 32 + (getInt32(bytes, at + 4) >>> 0);
}
