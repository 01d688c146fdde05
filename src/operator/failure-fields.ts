/**
 * Log fields of a failure. The message of an error from other code may quote a caller's input or a secret, so it is never logged.
 */

import { isTokenError } from '../token/index.ts';

/** Return the reason of a failure, if it is a TokenError, whose messages contain no secrets. */
export function reasonOf(error: unknown): { readonly reason?: string } {
  return isTokenError(error) ? { reason: error.message } : {};
}

/** Return the name of an error, and its reason as in {@link reasonOf}. */
export function failureFields(error: unknown): { readonly error: string; readonly reason?: string } {
  return { error: error instanceof Error ? error.name : typeof error, ...reasonOf(error) };
}
