/**
 * Bytes and text: base64 (RFC 4648 section 4 and 5), hex, UTF-8, joining, big-endian integers.
 *
 * It knows nothing of what the bytes mean. Runs anywhere `atob` and `TextEncoder` do: browsers, workers, Node, Deno.
 */

/** Bytes over a plain ArrayBuffer, the kind that Web Crypto takes. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** UTF-8 bytes of `text`. */
export function utf8(text: string): Bytes {
  return new TextEncoder().encode(text);
}

/** Text of UTF-8 `bytes`; broken sequences throw a TypeError. */
export function fromUtf8(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

/** Standard base64 with padding. */
export function toB64(bytes: Uint8Array): string {
  let binary = '';
  // Piecewise: a spread call of a large answer would overflow the stack.
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(binary);
}

/**
 * Bytes of standard base64 text, as forgiving as `atob`: white space and missing padding pass.
 *
 * @throws {DOMException} `InvalidCharacterError` for anything else.
 */
export function fromB64(text: string): Bytes {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

/** URL-safe base64 without padding (RFC 4648 section 5). */
export function toB64Url(bytes: Uint8Array): string {
  return toB64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/**
 * Bytes of URL-safe base64 text, with or without padding.
 *
 * @throws {DOMException} `InvalidCharacterError` for anything else.
 */
export function fromB64Url(text: string): Bytes {
  return fromB64(text.replaceAll('-', '+').replaceAll('_', '/'));
}

/** Lower-case hexadecimal, two digits a byte. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Bytes of hexadecimal text of either case; the caller has checked its form. */
export function fromHex(text: string): Bytes {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** One array of all `parts`, in order. */
export function concat(...parts: Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Signed 32-bit integer, big-endian, 4 bytes. */
export function int32(value: number): Bytes {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setInt32(0, value);
  return bytes;
}

/** Signed 64-bit integer, big-endian, 8 bytes; `value` is a safe integer (an instant in ms). */
export function int64(value: number): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigInt64(0, BigInt(value));
  return bytes;
}

/** Read a signed 32-bit big-endian integer at `at`. */
export function readInt32(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getInt32(at);
}

/** Read a signed 64-bit big-endian integer at `at`, as a number. */
export function readInt64(bytes: Uint8Array, at: number): number {
  return Number(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getBigInt64(at));
}
