/** The key of a stored mapping: the type of the DII and its hash. Plain addresses and numbers do not get past this file. */

import { sentDii } from '../../server/dii.ts';
import type { Dii } from '../../server/index.ts';
import { type DiiType, diiTypeOf, hashTextOf } from '../../token/index.ts';

/** Key of a mapping. `hash` is base64 of 32 bytes. */
export interface Key {
  readonly type: DiiType;
  readonly hash: string;
}

/** Undefined if the address, number or hash is not valid. @throws {TypeError} if it is not DII at all, without quoting it. */
export function keyOf(dii: Dii): Key | undefined {
  const { form, value } = sentDii(dii, 'none');
  const hash = value === undefined ? undefined : hashTextOf(form, value);
  return hash === undefined ? undefined : { type: diiTypeOf(form), hash };
}

/** The key as text. Sorts as the primary key does. */
export function textOf({ type, hash }: Key): string {
  return `${hash} ${type}`;
}

export function diiOf({ type, hash }: Key): Dii {
  return type === 'email' ? { emailHash: hash } : { phoneHash: hash };
}
