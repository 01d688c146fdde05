/** Normalises, validates and hashes DII (docs/protocol.md, "Normalisation"). No page imports this, for its hash library. */

import { sha256 } from '@noble/hashes/sha2.js';
import { type Bytes, fromB64, fromHex, toB64, utf8 } from './bytes.ts';

/** The four forms of DII on the wire. */
export const DII_FORMS = ['email', 'email_hash', 'phone', 'phone_hash'] as const;
/** One of the four forms of DII, with its name on the wire. */
export type DiiForm = (typeof DII_FORMS)[number];

/** The type of a DII, which a raw ID and a token keep. */
export type DiiType = 'email' | 'phone';

/** The type of DII that a form carries: `diiTypeOf('phone_hash')` is `'phone'`. */
export function diiTypeOf(form: DiiForm): DiiType {
  return form.startsWith('email') ? 'email' : 'phone';
}

/**
 * Normalise an email address: ASCII letters in lower case, no space (U+0020) in the local part or at the end of the domain. For
 * gmail.com, also no dots in the local part, and nothing from its first plus sign on.
 *
 * @returns undefined if the result is not `local@domain` with exactly one `@`.
 * @example normalizeEmail('Jane.Doe+news@Gmail.com') // 'janedoe@gmail.com'
 */
export function normalizeEmail(email: string): string | undefined {
  const lower = email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const [rawLocal = '', rawDomain = '', more] = lower.split('@');
  // A loop, because the regular expression / +$/ takes quadratic time on thousands of spaces before another character.
  let end = rawDomain.length;
  while (rawDomain[end - 1] === ' ') end--;
  const domain = rawDomain.slice(0, end);
  let local = rawLocal.replaceAll(' ', '');
  if (domain === 'gmail.com') local = local.replace(/\+.*$/s, '').replaceAll('.', '');
  return local && domain && more === undefined ? `${local}@${domain}` : undefined;
}

/**
 * Return a phone number in normal form, a plus sign and 10 to 15 ASCII digits; undefined for any other string.
 *
 * @example normalizePhone('(555) 555-5555') // undefined
 */
export function normalizePhone(phone: string): string | undefined {
  return /^\+[0-9]{10,15}$/.test(phone) ? phone : undefined;
}

/**
 * Hash a normalised DII: SHA-256 of its UTF-8 bytes, 32 bytes.
 *
 * @example toB64(hashDii('user@example.com')) // 'tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ='
 */
export function hashDii(normalized: string): Bytes {
  return sha256(utf8(normalized)) as Bytes;
}

/**
 * Parse a supplied hash, padded base64 (44 characters) or 64 hexadecimal digits; undefined for any other string.
 *
 * @example parseHash('tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ=')?.length // 32
 */
export function parseHash(text: string): Bytes | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return fromHex(text);
  return /^[A-Za-z0-9+/]{43}=$/.test(text) ? fromB64(text) : undefined;
}

/**
 * Return the hash of a DII in any form: an email or phone is normalised and hashed, a hash is parsed.
 *
 * @returns 32 bytes, or undefined if the value is not valid for its form.
 * @example hashOf('email', 'not an address') // undefined
 */
export function hashOf(form: DiiForm, value: string): Bytes | undefined {
  if (form.endsWith('_hash')) return parseHash(value);
  const normalized = form === 'email' ? normalizeEmail(value) : normalizePhone(value);
  return normalized === undefined ? undefined : hashDii(normalized);
}

/** Base64 of 32 bytes as {@link toB64} writes it: the last character before the padding encodes four bits. */
const WIRE_HASH = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

/**
 * Return the hash of a DII as base64 of 32 bytes; undefined if the value is not valid for its form.
 *
 * @example hashTextOf('email', 'User@Example.com') // 'tMmiiTI7IaAcPpQPFQ65uMVCWH8av9jw4cwf/F5HVRQ='
 */
export function hashTextOf(form: DiiForm, value: string): string | undefined {
  // Decoding and encoding a hash takes ten times as long as recognising that it is already in wire form.
  if (form.endsWith('_hash') && WIRE_HASH.test(value)) return value;
  const hash = hashOf(form, value);
  return hash && toB64(hash);
}
