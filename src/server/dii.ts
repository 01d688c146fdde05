/**
 * DII as a caller hands it over, and the form in which it leaves: hashed in this process unless told otherwise.
 *
 * The rules of normalising and hashing are `token/dii.ts`; this file only chooses. Next: `endpoints.ts`, `batch.ts`.
 */

import { type DiiForm, type DiiType, hashTextOf } from '../token/dii.ts';

/** One person's email address or phone number, or the base64 SHA-256 of either: exactly one of the four. */
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
 * - `emails` (default): email addresses; phone numbers go as they are.
 * - `all`: both.
 * - `none`: nothing; the service does it.
 */
export type HashLocally = 'emails' | 'all' | 'none';

const KEYS = ['email', 'emailHash', 'phone', 'phoneHash'] as const;
const EXPECTED = `DII: expected exactly one of ${KEYS.join(', ')} as text`;

/** DII as it goes to the service; `value` is undefined where local hashing found it to be no valid DII. */
export interface SentDii {
  readonly form: DiiForm;
  readonly value: string | undefined;
}

const hashed = (type: DiiType, value: string): SentDii => ({ form: `${type}_hash`, value: hashTextOf(type, value) });

const wrong = (got: string): TypeError => new TypeError(`${EXPECTED}, got ${got}`);

const wrongMember = (dii: Readonly<Record<string, unknown>>): TypeError => {
  const given = KEYS.filter((key) => dii[key] !== undefined);
  const [key] = given;
  if (given.length !== 1) return wrong(given.slice(0, 2).join(' and ') || 'none of them');
  return wrong(`${key} as ${dii[key!] === null ? 'null' : typeof dii[key!]}`);
};

/**
 * Choose the form in which `dii` is sent.
 *
 * @throws {TypeError} not an object, none or more than one of the four, or no text; the value is never shown.
 */
export function sentDii(dii: Dii, hashLocally: HashLocally): SentDii {
  if (typeof dii !== 'object' || dii === null) throw wrong(dii === null ? 'null' : typeof dii);
  // Name by name: a loop over the names takes as long as all the rest of what is done for a row.
  const { email, emailHash, phone, phoneHash } = dii;
  const given =
    Number(email !== undefined) +
    Number(emailHash !== undefined) +
    Number(phone !== undefined) +
    Number(phoneHash !== undefined);
  const value: unknown = email ?? emailHash ?? phone ?? phoneHash;
  if (given !== 1 || typeof value !== 'string') throw wrongMember(dii);
  if (emailHash !== undefined) return { form: 'email_hash', value };
  if (phoneHash !== undefined) return { form: 'phone_hash', value };
  if (email !== undefined) return hashLocally === 'none' ? { form: 'email', value } : hashed('email', value);
  return hashLocally === 'all' ? hashed('phone', value) : { form: 'phone', value };
}
