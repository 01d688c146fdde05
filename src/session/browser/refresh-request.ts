/**
 * One refresh: POST the refresh token, open the answer with the key of the set that was sent, parse it. This file does not store,
 * emit or repeat anything.
 */

import { fromB64, fromUtf8 } from '../../token/bytes.ts';
import { ownMembers } from '../../token/checks.ts';
import { aesKey, MIN_SEALED_LENGTH, openAes } from '../../token/cipher.ts';
import { type ErrorCode, TokenError, type TokenErrorDetails } from '../../token/errors.ts';
import { type Answer, parsePlainAnswer, type TokenSet } from '../../token/token-set.ts';
import { explain } from '../explain/entry.ts';
import type { Outcome } from '../rules/attempt-changes.ts';

/** Statuses with which the service ends a refresh token. They arrive in plain text. */
const ENDED = /"status"\s*:\s*"(expired|invalid)_token"/;

/**
 * Read `Retry-After`, in ms. Only seconds count: a date would have to be compared with a clock that may be wrong.
 *
 * @param headers  may be of another type, because `provide` may have thrown them.
 */
export function retryAfterOf(headers: Partial<Pick<Headers, 'get'>> | undefined): number | undefined {
  const ms = Number(headers?.get?.('retry-after')) * 1000;
  return ms > 0 ? ms : undefined;
}

/**
 * Refresh a set: `POST {baseUrl}/v2/token/refresh`.
 *
 * @param baseUrl  the operator, without a trailing slash.
 * @param fetch    the host's `fetch`; default: the global one, looked up at each call.
 * @param set      the set to send; its key opens the answer.
 * @param signal   aborts the request. The caller enforces the time limit.
 * @throws {TokenError} `network`: no answer; `http_status`; `malformed_response`, `decrypt_failed`: the answer does not open
 *   under the key or does not parse.
 * @see docs/protocol.md, "Refresh"
 */
export async function refreshSet(
  baseUrl: string,
  fetch: typeof globalThis.fetch = globalThis.fetch,
  set: TokenSet,
  signal: AbortSignal,
): Promise<Outcome> {
  let response: Response | null = null;
  let text: string;
  try {
    // Without custom headers and with a string body, a cross-origin request needs no preflight.
    const init: RequestInit = {
      method: 'POST',
      body: set.refreshToken,
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      signal,
    };
    response = await fetch(`${baseUrl}/v2/token/refresh`, ownMembers(init));
    text = await response.text();
  } catch (thrown) {
    // If the session aborted the request, the reason is never read.
    const message = explain && !signal.aborted ? explain.noAnswer(baseUrl, thrown, response) : undefined;
    throw new TokenError('network', message);
  }
  const { status, headers } = response;
  // Only an encrypted response may say success or optout: anything between page and service can send a plain-text error.
  if (status >= 300 && status < 500 && ENDED.test(text)) return { kind: 'answered', answer: 'ended' };
  const details = { status, retryAfterMs: retryAfterOf(headers) };
  if (status >= 300) throw new TokenError('http_status', explain?.answered(status, baseUrl), details);
  // Old libraries replace `Date.parse` by a function that returns a Date or null.
  const dateMs = Number(Date.parse(headers.get('date') ?? '')) || undefined;
  return { kind: 'answered', answer: await open(text, set.responseKeyB64, details, baseUrl), dateMs };
}

/** Decrypt and parse the body of a 200 response. No error quotes the decrypted text. */
async function open(text: string, keyB64: string, details: TokenErrorDetails, baseUrl: string): Promise<Answer> {
  let code: ErrorCode = 'malformed_response';
  try {
    const sealed = fromB64(text);
    if (sealed.length >= MIN_SEALED_LENGTH) code = 'decrypt_failed';
    const plain = await openAes(await aesKey(fromB64(keyB64)), sealed);
    code = 'malformed_response';
    return parsePlainAnswer(JSON.parse(fromUtf8(plain)));
  } catch {
    throw new TokenError(code, explain?.unopened(code, text, baseUrl), details);
  }
}
