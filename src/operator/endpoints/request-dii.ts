/** Reads the DII of a request to generate, validate or logout: exactly one, in any of the four forms. */

import { DII_FORMS, type DiiType, diiTypeOf, hashOf } from '../../token/index.ts';
import type { EndpointCall } from './endpoint.ts';
import { clientError, type EndpointResult } from './result.ts';

export const EXACTLY_ONE = `Required Parameter Missing: exactly one of [${DII_FORMS.join(', ')}] must be specified`;

/** Null counts as absent. Numbers and booleans are converted; others become the empty string, which no rule accepts. */
export function stringMember(payload: EndpointCall['payload'], name: string): string | undefined {
  const value = payload?.[name] ?? undefined;
  if (value === undefined || typeof value === 'string') return value;
  return typeof value === 'object' ? '' : String(value);
}

/** `hash`: SHA-256 of the normalised DII, 32 bytes. */
export function requestDii(
  payload: EndpointCall['payload'],
): { readonly type: DiiType; readonly hash: Uint8Array } | EndpointResult {
  const found = DII_FORMS.flatMap((form) => {
    const text = stringMember(payload, form);
    return text === undefined ? [] : [{ form, text }];
  });
  const [first] = found;
  if (!first || found.length > 1) return clientError(EXACTLY_ONE);
  const hash = hashOf(first.form, first.text);
  return hash ? { type: diiTypeOf(first.form), hash } : clientError('Invalid Identifier');
}
