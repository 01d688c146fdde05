/**
 * DII as a caller hands it over, and the form in which it leaves: hashed in this process unless told otherwise.
 *
 * The rules of normalising and hashing are `token/dii.ts`; this file only chooses. Next: `endpoints.ts`, `batch.ts`.
 */

import { type DiiForm, diiTypeOf, hashTextOf } from '../token/dii.ts';

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

const FORMS: Readonly<Record<string, DiiForm>> = {
  email: 'email',
  emailHash: 'email_hash',
  phone: 'phone',
  phoneHash: 'phone_hash',
};
const KEYS = Object.keys(FORMS);
const EXPECTED = `DII: expected exactly one of ${KEYS.join(', ')} as text`;

/** DII as it goes to the service; `value` is undefined where local hashing found it to be no valid DII. */
export interface SentDii {
  readonly form: DiiForm;
  readonly value: string | undefined;
}

/**
 * Choose the form in which `dii` is sent.
 *
 * @throws {TypeError} not an object, none or more than one of the four, or no text; the value is never shown.
 */
export const sentDii = (dii: Dii, hashLocally: HashLocally): SentDii => {
  const given = dii as Readonly<Record<string, unknown>> | null | undefined;
  if (typeof given !== 'object' || given === null)
    throw new TypeError(`${EXPECTED}, got ${given === null ? 'null' : typeof given}`);
  let key: string | undefined;
  for (const candidate of KEYS) {
    if (given[candidate] === undefined) continue;
    if (key) throw new TypeError(`${EXPECTED}, got ${key} and ${candidate}`);
    key = candidate;
  }
  if (!key) throw new TypeError(`${EXPECTED}, got none of them`);
  const value = given[key];
  if (typeof value !== 'string')
    throw new TypeError(`${EXPECTED}, got ${key} as ${value === null ? 'null' : typeof value}`);
  const form = FORMS[key]!;
  const type = diiTypeOf(form);
  const plain = form === type;
  if (!plain || hashLocally === 'none' || (hashLocally === 'emails' && type === 'phone')) return { form, value };
  return { form: `${type}_hash`, value: hashTextOf(form, value) };
};
