/** Bytes and text, wherever `atob` and `TextEncoder` exist: base64 (RFC 4648, sections 4 and 5), hexadecimal, UTF-8, integers. */

import { ownMembers } from './checks.ts';

/** Bytes over an ArrayBuffer, as Web Crypto requires; not over a SharedArrayBuffer. */
export type Bytes = Uint8Array<ArrayBuffer>;

export function utf8(text: string): Bytes {
  return new TextEncoder().encode(text);
}

/** @throws {TypeError} for bytes that are not UTF-8. */
export function fromUtf8(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', ownMembers({ fatal: true })).decode(bytes);
}

/** Standard base64 with padding. */
export function toB64(bytes: Uint8Array): string {
  let binary = '';
  // In chunks: a call with a large array overflows the stack. Spreading the array would take four times as long.
  for (let at = 0; at < bytes.length; at += 8192)
    binary += String.fromCharCode.apply(null, bytes.subarray(at, at + 8192) as never);
  return btoa(binary);
}

/** Accepts white space and missing padding, like `atob`. Throws a DOMException, `InvalidCharacterError`, for anything else. */
export function fromB64(text: string): Bytes {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  // `Uint8Array.from` with a function takes ten times as long, which counts for the hashes of a mapping batch.
  for (let at = 0; at < bytes.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** With or without padding. Throws as {@link fromB64}. */
export function fromB64Url(text: string): Bytes {
  return fromB64(text.replaceAll('-', '+').replaceAll('_', '/'));
}

/** Lowercase, two digits per byte. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** In either case. The caller has checked that the string contains only digits, and an even number of them. */
export function fromHex(text: string): Bytes {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

export function concat(...parts: Uint8Array[]): Bytes {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** Encode a safe integer, such as an instant in ms, as a signed 64-bit integer: 8 bytes, big-endian. */
export function int64(value: number): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigInt64(0, BigInt(value));
  return bytes;
}

/** Read a signed 64-bit big-endian integer at offset `at`. Beyond 2^53 the number is rounded. */
export function readInt64(bytes: Uint8Array, at: number): number {
  return Number(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigInt64(at));
}
