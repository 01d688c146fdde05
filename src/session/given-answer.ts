/** Parses what a page gives: by `tokens`, `setTokens` or `provide`. */

import { isDevelopment } from '../token/development.ts';
import { TokenError } from '../token/errors.ts';
import { type Answer, parseAnswer, parsePlainAnswer } from '../token/token-set.ts';
import { warn } from './warnings.ts';

/**
 * Parse an answer of the publisher's server. The development build names a Response, a promise or a string, with the remedy.
 *
 * @throws {TokenError} `invalid_token_set`.
 */
export function parseGiven(input: unknown): Answer {
  return isDevelopment ? parseAnswer(input) : parsePlainAnswer(input);
}

/**
 * Warn in the console if an option supplied no token set: nothing else shows it to a page that does not listen to `error`. For the
 * development build.
 */
export function warnIfNoSet(option: 'provide' | 'tokens', error: unknown): void {
  if (error instanceof TokenError && error.code === 'invalid_token_set')
    warn(`${option}: ${error.message}`, error.code);
}
