/**
 * Reading the one DII of a request: generate, validate and logout ask for exactly one, in any of four forms.
 */

import { DII_FORMS, type DiiType, diiTypeOf, hashOf } from '../../token/index.ts';
import type { Call } from './endpoint.ts';
import type { Reply } from './result.ts';
import { clientError } from './result.ts';

/** A DII that was read. */
export interface OneDii {
  readonly type: DiiType;
  /** SHA-256 of its normal form, 32 bytes. */
  readonly hash: Uint8Array;
}

/** The message of endpoints that take one form of DII and got none or several. */
export const EXACTLY_ONE = `Required Parameter Missing: exactly one of [${DII_FORMS.join(', ')}] must be specified`;

/** A member as text: other scalars are written out, null counts as absent, objects are no text. */
export function textIn(payload: Call['payload'], name: string): string | undefined {
  const value = payload?.[name] ?? undefined;
  // What is no scalar becomes text that no rule accepts.
  return value === undefined || typeof value === 'string' ? value : typeof value === 'object' ? '' : String(value);
}

/** The DII of a request, or the refusal: none, more than one, or not valid for its form. */
export function oneDii(payload: Call['payload']): OneDii | Reply {
  const given = DII_FORMS.flatMap((form) => {
    const text = textIn(payload, form);
    return text === undefined ? [] : [{ form, text }];
  });
  const [only] = given;
  if (!only || given.length > 1) return clientError(EXACTLY_ONE);
  const hash = hashOf(only.form, only.text);
  return hash ? { type: diiTypeOf(only.form), hash } : clientError('Invalid Identifier');
}
