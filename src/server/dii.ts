/** DII as the caller passes it, and the form in which it is sent: hashed in this process, by `token/dii.ts`, or unchanged. */

import { kindOf, ownMembers } from '../token/checks.ts';
import { type DiiForm, type DiiType, hashTextOf } from '../token/index.ts';

/** The email address or phone number of one person, or the SHA-256 of either, in base64 or hexadecimal: exactly one. */
export type Dii =
  | {
      readonly email: string;
      readonly emailHash?: undefined;
      readonly phone?: undefined;
      readonly phoneHash?: undefined;
    }
  | {
      readonly emailHash: string;
      readonly email?: undefined;
      readonly phone?: undefined;
      readonly phoneHash?: undefined;
    }
  | {
      readonly phone: string;
      readonly email?: undefined;
      readonly emailHash?: undefined;
      readonly phoneHash?: undefined;
    }
  | {
      readonly phoneHash: string;
      readonly email?: undefined;
      readonly emailHash?: undefined;
      readonly phone?: undefined;
    };

/**
 * Which DII is normalised and hashed before it leaves this process.
 *
 * - `emails` (default): email addresses. Phone numbers are sent unchanged.
 * - `all`: both.
 * - `none`: neither. The service normalises and hashes.
 */
export type HashLocally = 'emails' | 'all' | 'none';

const KEYS = ['email', 'emailHash', 'phone', 'phoneHash'] as const;
const EXPECTED = `DII: expected an object with exactly one of ${KEYS.join(', ')} as a string`;

/** For messages. */
export const FORM_NAMES: Readonly<Record<DiiForm, string>> = {
  email: 'an email address',
  phone: 'a phone number: + and 10 to 15 digits',
  email_hash: 'a hash: 32 bytes in base64 or hexadecimal',
  phone_hash: 'a hash: 32 bytes in base64 or hexadecimal',
};

/** All lone surrogates have the same UTF-8 bytes, those of U+FFFD. */
const NOT_TEXT = /[\p{Cc}\p{Cs}]/u;
const EMPTY_B64 = /^47DEQpj8HBSa\+\/TImW\+5JCeuQeRkm5NMpJWZG3hSuF[U-X]=$/;
const EMPTY_HEX = /^e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855$/i;

/** Why a value is nobody's DII although a service may accept it. Undefined if nothing shows that. */
export function diiFault(form: DiiForm, value: string): string | undefined {
  if (form === 'email')
    return NOT_TEXT.test(value)
      ? 'expected an email address, got a control character or a lone surrogate in it'
      : undefined;
  return EMPTY_B64.test(value) || EMPTY_HEX.test(value)
    ? 'expected the hash of an address or a number, got that of the empty string: an empty field was hashed'
    : undefined;
}

/** If this process has rejected the DII, `value` is undefined, and `form` is the form of the caller. */
export interface SentDii {
  readonly form: DiiForm;
  readonly value: string | undefined;
  /** Why this process has rejected DII of the right format. */
  readonly fault?: string;
}

/** A row of a table whose column is empty. */
const NO_DII: SentDii = { form: 'email', value: undefined, fault: 'expected DII, got null' };

function hashed(type: DiiType, given: string): SentDii {
  const value = hashTextOf(type, given);
  return { form: value === undefined ? type : `${type}_hash`, value };
}

function gotInstead(dii: Readonly<Record<string, unknown>>): string | undefined {
  const kind = kindOf(dii);
  if (kind !== 'object') return kind;
  const own = ownMembers<Readonly<Record<string, unknown>>>(dii);
  const given = KEYS.filter((key) => own[key] !== undefined && own[key] !== null);
  const [key = KEYS.find((name) => own[name] === null)] = given;
  if (given.length > 1 || key === undefined) return given.slice(0, 2).join(' and ') || 'none of them';
  return typeof own[key] === 'string' ? undefined : `${key} as ${kindOf(own[key])}`;
}

/** Why a value is not of the type {@link Dii}, such as `DII: expected an object with exactly one of ... as a string, got string`. */
export function diiTypeFault(dii: unknown): string | undefined {
  const got = gotInstead(dii as Readonly<Record<string, unknown>>);
  return got && `${EXPECTED}, got ${got}`;
}

/**
 * Choose the form in which `dii` is sent. Null counts as absent; if all members are null, the result is invalid.
 * @throws {TypeError} if it is not an object with exactly one of the four as a string. The message never contains the value.
 */
export function sentDii(dii: Dii, hashLocally: HashLocally): SentDii {
  if (typeof dii !== 'object' || dii === null) throw new TypeError(diiTypeFault(dii));
  // Not a loop over the names, which would double the time for each row.
  const { email, emailHash, phone, phoneHash } = dii;
  const given = Number(email != null) + Number(emailHash != null) + Number(phone != null) + Number(phoneHash != null);
  const value: unknown = email ?? emailHash ?? phone ?? phoneHash;
  if (given === 0 && KEYS.some((key) => dii[key] === null)) return NO_DII;
  if (given !== 1 || typeof value !== 'string') throw new TypeError(diiTypeFault(dii));
  const type = email != null || emailHash != null ? 'email' : 'phone';
  const form = email != null || phone != null ? type : (`${type}_hash` as const);
  const fault = diiFault(form, value);
  if (fault !== undefined) return { form, value: undefined, fault };
  const isHashed = (form === 'email' && hashLocally !== 'none') || (form === 'phone' && hashLocally === 'all');
  return isHashed ? hashed(type, value) : { form, value };
}

/** Tell whether an object has the members of DII without a value, such as the empty column of a user without an address. */
export function isWithoutValue(dii: Dii): boolean {
  const members = Object.entries(Object(dii));
  return members.length > 0 && members.every(([key, value]) => KEYS.some((name) => name === key) && value == null);
}

/** Explain why {@link sentDii} or the hash of `dii` is invalid: in the words of the service, unless more is known. */
export function invalidReason(dii: Dii): string {
  return sentDii(dii, 'none').fault ?? 'invalid identifier';
}

/**
 * As {@link sentDii}, for one `dii`; `value` is undefined for an invalid one of any form, unless `hashLocally` is `none`. Rows of
 * a batch are not checked in this way: the service answers for each, and the check takes as long as all other work for a row.
 * @throws {TypeError} as {@link sentDii}, and if all members are null.
 */
export function validSentDii(dii: Dii, hashLocally: HashLocally): SentDii {
  const sent = sentDii(kindOf(dii) === 'object' ? ownMembers<Dii>(dii) : dii, hashLocally);
  if (sent === NO_DII) throw new TypeError(diiTypeFault(dii));
  const { form, value } = sent;
  const isValid = value === undefined || hashLocally === 'none' || hashTextOf(form, value) !== undefined;
  return isValid ? sent : { form, value: undefined };
}
