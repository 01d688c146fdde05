/**
 * One refresh: POST the refresh token, open the answer with the key of the very set that was sent, and say what came
 * of it. It neither stores, nor announces, nor tries again: the hub does.
 */

import { openRefresh } from '../token/envelope.ts';
import { type ErrorCode, TokenError } from '../token/errors.ts';
import type { TokenSet } from '../token/token-set.ts';
import { parseAnswer } from '../token/token-set.ts';
import type { Settings } from './options.ts';
import type { Word } from './record.ts';

/** What the service said. */
export interface Outcome {
  /** A newer set or an opt-out, sealed under the key; `ended`: the refresh token was refused for good. */
  readonly word: Word;
  /** The answer's `Date`, epoch ms, where the page may read it. */
  readonly dateMs?: number | undefined;
}

/**
 * Exchange a set.
 *
 * @param set     what is sent, and whose key opens the answer.
 * @param signal  gives the request up; the caller bounds the whole in time.
 * @param now     the service's time as far as it is known, epoch ms.
 * @throws {TokenError} `http_status`; `malformed_response`, `decrypt_failed`: an answer that does not open under the key,
 *   or does not parse. Whatever `fetch` rejects with: there was no answer.
 * @see protocol facts 2.1 to 2.3, decisions 7, 19 and 20
 */
export async function refresh(
  { baseUrl, fetch = globalThis.fetch }: Settings,
  set: TokenSet,
  signal: AbortSignal,
  now: number,
): Promise<Outcome> {
  // No header of our own, and a text body: the request needs no preflight.
  const response = await fetch(`${baseUrl}/v2/token/refresh`, {
    method: 'POST',
    body: set.refreshToken,
    credentials: 'omit',
    redirect: 'error',
    signal,
  });
  const text = await response.text();
  const { status, headers } = response;
  const dateMs = Date.parse(headers.get('date') as string);
  let code: ErrorCode = 'http_status';
  if (status < 300)
    try {
      const word = parseAnswer(JSON.parse(await openRefresh(text, set.responseKeyB64)));
      return { word, dateMs };
    } catch (error) {
      // What is wrong with an opened answer is not passed on: a parser quotes what it chokes on.
      code = (error as TokenError).code === 'decrypt_failed' ? 'decrypt_failed' : 'malformed_response';
    }
  // Only a sealed answer may say success or optout: the plain text of an error is from nobody in particular.
  else if (status < 500 && /"status"\s*:\s*"(expired|invalid)_token"/.test(text)) return { word: 'ended' };
  // Seconds, or a date of the service.
  const after = headers.get('retry-after') as string;
  const retryAfterMs = +after * 1000 || Date.parse(after) - (dateMs || now) || undefined;
  throw new TokenError(code, undefined, { status, retryAfterMs });
}
