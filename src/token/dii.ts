/**
 * Directly identifying information (DII): normalising, validating and hashing email addresses and phone numbers.
 *
 * The rules are the operator's own (protocol facts 4.1 to 4.3), so that hashing in a client and in the service give
 * one result. Synchronous; no page imports this file, so its hash library never reaches a page's bundle.
 */

import { sha256 } from '@noble/hashes/sha2.js';
import type { Bytes } from './bytes.ts';
import { fromB64, fromHex, toB64, utf8 } from './bytes.ts';

/** The four forms in which DII travels. */
export const DII_FORMS = ['email', 'email_hash', 'phone', 'phone_hash'] as const;
export type DiiForm = (typeof DII_FORMS)[number];

/** What a raw ID remembers of its DII. */
export type DiiType = 'email' | 'phone';

/** The type of the DII behind a form. */
export function diiTypeOf(form: DiiForm): DiiType {
  return form.startsWith('email') ? 'email' : 'phone';
}

/**
 * Normalise an email address.
 *
 * ASCII letters become lower case, every space of the local part goes, spaces at the end of the domain go. At
 * gmail.com the local part also loses its dots and everything from the first plus sign on.
 *
 * @returns the normal form, or undefined where there is no `local@domain` in it.
 * @example normaliseEmail('Jane.Doe+news@Gmail.com') // 'janedoe@gmail.com'
 */
export function normaliseEmail(email: string): string | undefined {
  const lower = email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const [rawLocal = '', rawDomain = '', more] = lower.split('@');
  // Not by a pattern: ` +$` takes quadratic time where spaces by the thousand are followed by something else.
  let end = rawDomain.length;
  while (rawDomain[end - 1] === ' ') end--;
  const domain = rawDomain.slice(0, end);
  let local = rawLocal.replaceAll(' ', '');
  if (domain === 'gmail.com') local = local.replace(/\+.*$/s, '').replaceAll('.', '');
  return local && domain && more === undefined ? `${local}@${domain}` : undefined;
}

/** The phone number itself where it is in normal form: a plus sign and 10 to 15 ASCII digits. */
export function normalisePhone(phone: string): string | undefined {
  return /^\+[0-9]{10,15}$/.test(phone) ? phone : undefined;
}

/** SHA-256 of the UTF-8 text of a normalised DII, 32 bytes. */
export function hashDii(normalised: string): Bytes {
  return sha256(utf8(normalised)) as Bytes;
}

/**
 * Read a supplied hash: 44 characters of base64 (with padding) of 32 bytes, or 64 hexadecimal digits of either case.
 *
 * @returns 32 bytes, or undefined for anything else.
 */
export function parseHash(text: string): Bytes | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return fromHex(text);
  return /^[A-Za-z0-9+/]{43}=$/.test(text) ? fromB64(text) : undefined;
}

/**
 * The hash behind DII of any form.
 *
 * @returns 32 bytes, or undefined where the value is not valid for its form.
 */
export function hashOf(form: DiiForm, value: string): Bytes | undefined {
  if (form.endsWith('_hash')) return parseHash(value);
  const normalised = form === 'email' ? normaliseEmail(value) : normalisePhone(value);
  return normalised === undefined ? undefined : hashDii(normalised);
}

/** The hash as it travels: base64 of its 32 bytes. */
export function hashTextOf(form: DiiForm, value: string): string | undefined {
  const hash = hashOf(form, value);
  return hash && toB64(hash);
}
