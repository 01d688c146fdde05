/** One refresh: POST the refresh token, open the answer with the key of the set that was sent, parse it. */

import { fromB64, fromUtf8 } from '../../token/bytes.ts';
import { requestOptions } from '../../token/checks.ts';
import { aesKey, MIN_SEALED_LENGTH, openAes } from '../../token/cipher.ts';
import { type ErrorCode, TokenError, type TokenErrorDetails } from '../../token/errors.ts';
import { type Answer, parsePlainAnswer, type TokenSet } from '../../token/token-set.ts';
import { explain } from '../explain/entry.ts';
import type { Outcome } from '../rules/attempt-changes.ts';

/** Statuses with which the service ends a refresh token. They arrive in plain text. */
const ENDED = /"status"\s*:\s*"(expired|invalid)_token"/;

/** The longest answer that is read, characters. One with a token set has about 1,200. */
const MAX_LENGTH = 65_536;

/**
 * In ms. Only seconds count: a date would have to be compared with a clock that may be wrong. `headers` may be of another type,
 * because `provide` may have thrown them.
 */
export function retryAfterOf(headers: Partial<Pick<Headers, 'get'>> | undefined): number | undefined {
  const ms = Number(headers?.get?.('retry-after')) * 1000;
  return ms > 0 ? ms : undefined;
}

/**
 * `POST {baseUrl}/v2/token/refresh`: docs/protocol.md, "Refresh". The caller enforces the time limit.
 *
 * @param fetch  default: the global one, looked up at each call.
 * @throws {TokenError} `http_status`; `malformed_response`, `decrypt_failed`: the answer does not open under the key or does not
 *   parse. Anything else means that there was no answer.
 */
export async function refreshSet(
  baseUrl: string,
  fetch: typeof globalThis.fetch = globalThis.fetch,
  set: TokenSet,
  signal: AbortSignal,
): Promise<Outcome> {
  const options = requestOptions({
    method: 'POST',
    // Without custom headers and with a string body, a cross-origin request needs no preflight.
    body: set.refreshToken,
    credentials: 'omit',
    cache: 'no-store',
    redirect: 'error',
    referrerPolicy: 'no-referrer',
    signal,
  });
  const response = await fetch(`${baseUrl}/v2/token/refresh`, options);
  explain?.checkResponse(baseUrl, response);
  const text = await readText(response);
  const { status, headers } = response;
  // Only an encrypted response may say success or optout: anything between page and service can send a plain-text error.
  if (status >= 300 && status < 500 && ENDED.test(text)) return { kind: 'answered', answer: 'ended' };
  const details = { status, retryAfterMs: retryAfterOf(headers) };
  if (status >= 300) throw new TokenError('http_status', explain?.statusFault(status, baseUrl), details);
  // Old libraries replace `Date.parse` by a function that returns a Date or null.
  const dateMs = Number(Date.parse(headers.get('date') ?? '')) || undefined;
  return { kind: 'answered', answer: await open(text, set.responseKeyB64, details, baseUrl), dateMs };
}

/** A response of a page's own `fetch` may have no stream. The end of the attempt ends the request. */
async function readText(response: Response): Promise<string> {
  const reader = response.body?.getReader?.();
  // Each chunk alone: what counts in an answer is ASCII.
  const rest = async (text: string): Promise<string> => {
    const { done, value } = await reader!.read();
    return done || text.length > MAX_LENGTH ? text : rest(text + new TextDecoder().decode(value));
  };
  return reader ? rest('') : response.text();
}

/** No error quotes the decrypted text. */
async function open(text: string, keyB64: string, details: TokenErrorDetails, baseUrl: string): Promise<Answer> {
  let code: ErrorCode = 'malformed_response';
  try {
    const sealed = fromB64(text);
    if (sealed.length >= MIN_SEALED_LENGTH) code = 'decrypt_failed';
    const plain = await openAes(await aesKey(fromB64(keyB64)), sealed);
    code = 'malformed_response';
    return parsePlainAnswer(JSON.parse(fromUtf8(plain)));
  } catch {
    throw new TokenError(code, explain?.unopenedFault(code, text, baseUrl), details);
  }
}
