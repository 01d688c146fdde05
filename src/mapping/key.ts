/**
 * Under what a person's mapping is stored: the type of the DII and its hash. This is where plain addresses and numbers
 * end: nothing behind it ever sees one.
 */

import { sentDii } from '../server/dii.ts';
import type { Dii } from '../server/index.ts';
import { type DiiType, diiTypeOf, hashTextOf } from '../token/index.ts';

/** Type, and base64 of the 32 bytes of the hash. */
export interface Key {
  readonly type: DiiType;
  readonly hash: string;
}

/**
 * The key of DII in any of its four forms; a hash in hexadecimal digits has the same one.
 *
 * @returns undefined for an address, a number or a hash that is not valid.
 * @throws {TypeError} no DII at all; the value is not shown.
 */
export function keyOf(dii: Dii): Key | undefined {
  const { form, value } = sentDii(dii, 'none');
  const hash = hashTextOf(form, value!);
  return hash === undefined ? undefined : { type: diiTypeOf(form), hash };
}

/** A key as DII, the way it is sent. */
export function diiOf({ type, hash }: Key): Dii {
  return type === 'email' ? { emailHash: hash } : { phoneHash: hash };
}
