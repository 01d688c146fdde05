/** Parses what a page gives: by `tokens`, `setTokens` or `provide`. */

import { isDevelopment } from '../token/development.ts';
import { type Answer, parseAnswer, parsePlainAnswer } from '../token/token-set.ts';

/**
 * Parse an answer of the publisher's server. The development build names a Response, a promise or a string, with the remedy.
 *
 * @throws {TokenError} `invalid_token_set`.
 */
export function parseGiven(input: unknown): Answer {
  return isDevelopment ? parseAnswer(input) : parsePlainAnswer(input);
}
