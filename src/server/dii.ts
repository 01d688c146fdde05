/**
 * DII as the caller passes it, and the choice of the form in which it is sent: hashed in this process, or unchanged.
 *
 * The rules of normalisation and hashing are in `token/dii.ts`.
 */

import { kindOf } from '../token/checks.ts';
import { type DiiForm, type DiiType, hashTextOf } from '../token/index.ts';

/**
 * The email address or phone number of one person, or the SHA-256 of either, in base64 or hexadecimal: exactly one of the four.
 */
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
const EXPECTED = `DII: expected exactly one of ${KEYS.join(', ')} as a string`;

/** DII as it is sent to the service. If this process has rejected it, `value` is undefined, and `form` is the form of the caller. */
export interface SentDii {
  readonly form: DiiForm;
  readonly value: string | undefined;
}

const hashed = (type: DiiType, given: string): SentDii => {
  const value = hashTextOf(type, given);
  return { form: value === undefined ? type : `${type}_hash`, value };
};

const diiError = (got: string): TypeError => new TypeError(`${EXPECTED}, got ${got}`);

const fieldError = (dii: Readonly<Record<string, unknown>>): TypeError => {
  const given = KEYS.filter((key) => dii[key] !== undefined);
  const [key] = given;
  if (given.length !== 1) return diiError(given.slice(0, 2).join(' and ') || 'none of them');
  return diiError(`${key} as ${kindOf(dii[key!])}`);
};

/**
 * Choose the form in which `dii` is sent.
 *
 * @throws {TypeError} if it is not an object with exactly one of the four as a string. The message never contains the value.
 */
export function sentDii(dii: Dii, hashLocally: HashLocally): SentDii {
  if (typeof dii !== 'object' || dii === null) throw diiError(kindOf(dii));
  // Not a loop over the names, which would double the time for each row.
  const { email, emailHash, phone, phoneHash } = dii;
  const given =
    Number(email !== undefined) +
    Number(emailHash !== undefined) +
    Number(phone !== undefined) +
    Number(phoneHash !== undefined);
  const value: unknown = email ?? emailHash ?? phone ?? phoneHash;
  if (given !== 1 || typeof value !== 'string') throw fieldError(dii);
  if (emailHash !== undefined) return { form: 'email_hash', value };
  if (phoneHash !== undefined) return { form: 'phone_hash', value };
  if (email !== undefined) return hashLocally === 'none' ? { form: 'email', value } : hashed('email', value);
  return hashLocally === 'all' ? hashed('phone', value) : { form: 'phone', value };
}

/**
 * Choose the form in which one `dii` is sent. Unless `hashLocally` is `none`, `value` is undefined for an invalid one of any form.
 *
 * Rows of a batch are not checked in this way: the service answers for each row, and the check takes as long as the rest of the
 * work for a row.
 *
 * @throws {TypeError} as {@link sentDii}.
 */
export function validSentDii(dii: Dii, hashLocally: HashLocally): SentDii {
  const { form, value } = sentDii(dii, hashLocally);
  const isValid = value !== undefined && (hashLocally === 'none' || hashTextOf(form, value) !== undefined);
  return { form, value: isValid ? value : undefined };
}
