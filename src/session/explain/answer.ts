/** Parses what the page supplies, and names the remedy for what is mistaken for it. */

import { ownMembers } from '../../token/checks.ts';
import { expectedGot, ignoreFailure, TokenError } from '../../token/errors.ts';
import { type Answer, parseAnswer } from '../../token/token-set.ts';

export function parserOf(way: 'provide' | 'tokens' | 'setTokens'): (input: unknown) => Answer {
  return (input) => {
    if (way === 'provide' && input === undefined)
      throw new TokenError(
        'invalid_token_set',
        'provide: returned undefined: return the set, or null if nobody is signed in',
      );
    try {
      return parseAnswer(input);
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      throw new TokenError(error.code, `${way}: ${ignoreFailure(() => formFault(input)) ?? error.message}`);
    }
  };
}

function formFault(input: unknown): string | undefined {
  const { body, tokens, status } = Object(input) as Record<string, unknown>;
  if (typeof Object(body).then === 'function') return expectedGot('body', 'object', 'a Promise: await it');
  if (status === 'error')
    return expectedGot(
      'token set',
      'object',
      'the body of a failed request: check response.ok before response.json(); tokenHandler answers 405 to anything but POST',
    );
  if ('advertising_token' in ownMembers(tokens))
    return expectedGot('token set', 'object', 'an object with the set in tokens: pass that member');
  const isResult = [input, tokens, body].some((set) => 'advertisingToken' in ownMembers(set));
  return isResult
    ? expectedGot(
        'token set',
        'the names of the protocol (advertising_token)',
        'those of the server client (advertisingToken): pass answerOf(result), with the result of generate',
      )
    : undefined;
}
