/**
 * Base64 by the thousand: what the token room does, in a tenth of the time, and strictly.
 *
 * That one is written for pages, where every byte of code counts; here every microsecond does. Hashing an ID reads
 * base64 as bytes, and bodies arrive as bytes, so bytes (ASCII) are what is written and read.
 */

import { type Bytes, utf8 } from '../../token/bytes.ts';
import type { NodeBuffer, NodeBytes } from './node-builtins.ts';
import { nodeBuffer, room } from './node-builtins.ts';

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const STANDARD = utf8(`${LETTERS}+/`);
const URL_SAFE = utf8(`${LETTERS}-_`);
const PAD = 0x3d;

/** Characters of the base64 of so many bytes. */
export function b64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

/** Write the base64 of `bytes`, with padding, as ASCII to the start of `out`. */
export function writeB64(bytes: Uint8Array, out: Uint8Array, alphabet: Uint8Array = STANDARD): void {
  const rest = bytes.length % 3;
  const whole = bytes.length - rest;
  let to = 0;
  for (let from = 0; from < whole; from += 3) {
    const three = (bytes[from]! << 16) | (bytes[from + 1]! << 8) | bytes[from + 2]!;
    out[to++] = alphabet[three >> 18]!;
    out[to++] = alphabet[(three >> 12) & 63]!;
    out[to++] = alphabet[(three >> 6) & 63]!;
    out[to++] = alphabet[three & 63]!;
  }
  if (!rest) return;
  const last = (bytes[whole]! << 16) | (rest === 2 ? bytes[whole + 1]! << 8 : 0);
  out[to++] = alphabet[last >> 18]!;
  out[to++] = alphabet[(last >> 12) & 63]!;
  out[to++] = rest === 2 ? alphabet[(last >> 6) & 63]! : PAD;
  out[to] = PAD;
}

/** Base64 of `bytes` as ASCII. */
export function b64Bytes(bytes: Uint8Array): Bytes {
  const out = room(b64Length(bytes.length));
  writeB64(bytes, out);
  return out;
}

const ascii = new TextDecoder('latin1');

const portableText = (bytes: Uint8Array): string => ascii.decode(b64Bytes(bytes));
const portableUrlText = (bytes: Uint8Array): string => {
  const out = new Uint8Array(b64Length(bytes.length));
  writeB64(bytes, out, URL_SAFE);
  return ascii.decode(out.subarray(0, Math.ceil((bytes.length * 4) / 3)));
};

/** Bytes to text. */
export interface B64 {
  /** Standard base64. */
  text(bytes: Uint8Array): string;
  /** URL-safe base64, without padding. */
  urlText(bytes: Uint8Array): string;
}

/** By Node's memory, where this host has it. */
export function nativeB64({ isBuffer, from }: NodeBuffer): B64 {
  const nodeBytes = (bytes: Uint8Array): NodeBytes => (isBuffer(bytes) ? (bytes as NodeBytes) : from(bytes));
  return {
    text: (bytes) => nodeBytes(bytes).toString('base64'),
    urlText: (bytes) => nodeBytes(bytes).toString('base64url'),
  };
}

/** By what every host has. */
export const portableB64: B64 = { text: portableText, urlText: portableUrlText };

/** Base64 of `bytes` as text; URL-safe without padding. */
export const { text: b64Text, urlText: b64UrlText } = nodeBuffer ? nativeB64(nodeBuffer) : portableB64;

// What a character stands for; 64 for what is none of them.
const VALUES = new Uint8Array(256).fill(64);
STANDARD.forEach((char, value) => {
  VALUES[char] = value;
});

/**
 * Read base64 as the ecosystem's operator does: standard alphabet, no white space, padding whole or absent.
 *
 * @param ascii  the text, a byte a character.
 * @returns      undefined for anything else.
 */
export function readB64(ascii: Uint8Array): Bytes | undefined {
  let end = ascii.length;
  while (end > ascii.length - 2 && ascii[end - 1] === PAD) end--;
  const rest = end % 4;
  if (rest === 1 || (end < ascii.length && ascii.length % 4)) return undefined;
  const out = room(Math.floor((end * 3) / 4));
  const value = (at: number): number => (at < end ? VALUES[ascii[at]!]! : 0);
  let seen = 0;
  let to = 0;
  for (let at = 0; at < end; at += 4) {
    const [a, b, c, d] = [value(at), value(at + 1), value(at + 2), value(at + 3)];
    seen |= a | b | c | d;
    const three = (a << 18) | (b << 12) | (c << 6) | d;
    // Beyond the end nothing is kept: a typed array takes no more than it has room for.
    out[to++] = three >> 16;
    out[to++] = three >> 8;
    out[to++] = three;
  }
  return seen & 64 ? undefined : out;
}
