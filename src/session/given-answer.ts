/** Parses the answers that a page supplies through `tokens`, `setTokens` or `provide`. */

import { isDevelopment } from '../token/development.ts';
import { TokenError } from '../token/errors.ts';
import { type Answer, parseAnswer, parsePlainAnswer } from '../token/token-set.ts';
import { warn } from './warnings.ts';

/**
 * Parse an answer of the publisher's server. For a Response, a promise or a string, the error of the development build names the
 * remedy.
 *
 * @throws {TokenError} `invalid_token_set`.
 */
export function parseGiven(input: unknown): Answer {
  return isDevelopment ? parseAnswer(input) : parsePlainAnswer(input);
}

/**
 * Warn in the console that an option supplied no token set, which a page that does not listen to `error` would not notice. For
 * the development build.
 */
export function warnIfNoSet(option: 'provide' | 'tokens', error: unknown): void {
  if (error instanceof TokenError && error.code === 'invalid_token_set')
    warn(`${option}: ${error.message}`, error.code);
}
