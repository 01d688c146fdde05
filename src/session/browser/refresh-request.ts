/**
 * One refresh: POST the refresh token, open the answer with the key of the set that was sent, parse it. This file does not store,
 * emit or repeat anything.
 */

import { fromB64, fromUtf8 } from '../../token/bytes.ts';
import { aesKey, MIN_SEALED_LENGTH, openAes } from '../../token/cipher.ts';
import { isDevelopment } from '../../token/development.ts';
import { type ErrorCode, TokenError, type TokenErrorDetails } from '../../token/errors.ts';
import { type Answer, parsePlainAnswer, type TokenSet } from '../../token/token-set.ts';
import { ignoreFailure } from '../ignore-failure.ts';
import { networkReason, responseTypeFault, statusRemedy, unsealedReason } from '../network-reason.ts';
import { retryAfterOf } from '../retry-after.ts';
import type { RefreshResult } from '../rules/refresh.ts';

/** What the service answered. */
export interface RefreshAnswer {
  readonly result: RefreshResult;
  /** The answer's `Date` header, epoch ms, if the page may read it. */
  readonly dateMs?: number | undefined;
}

/** The longest body that is read, in characters. An encrypted response has about 1,500. */
const MAX_CHARACTERS = 65_536;

/** Messages of the development build. */
const UNOPENED = 'refresh: the answer does not open under the key of the set sent';
const MALFORMED = 'refresh: the answer is not a sealed token set or opt-out';

/** Statuses with which the service ends a refresh token. They arrive in plain text. */
const ENDED = /"status"\s*:\s*"(expired|invalid)_token"/;

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
): Promise<RefreshAnswer> {
  const request: RequestInit = {
    // Without custom headers and with a string body, a cross-origin request needs no preflight.
    method: 'POST',
    body: set.refreshToken,
    credentials: 'omit',
    cache: 'no-store',
    redirect: 'error',
    signal,
  };
  let response: Response;
  let text: string;
  let fault: string | undefined;
  try {
    response = await fetch(`${baseUrl}/v2/token/refresh`, request);
    if (isDevelopment) fault = responseTypeFault(response);
    text = await readText(response);
  } catch (thrown) {
    const what = `refresh: no answer to POST ${baseUrl}/v2/token/refresh`;
    // If the session aborted the request, the reason is never read.
    if (isDevelopment && !signal.aborted)
      throw new TokenError('network', what + (fault ?? networkReason(baseUrl, thrown)));
    throw new TokenError('network', what);
  }
  const { status, headers } = response;
  const dateMs = Date.parse(headers.get('date') ?? '') || undefined;
  // Only an encrypted response may say success or optout: anything between page and service can send a plain-text error.
  if (status >= 300 && status < 500 && ENDED.test(text)) return { result: 'ended' };
  const details = { status, retryAfterMs: retryAfterOf(headers) };
  if (status >= 300) {
    const what = `refresh: POST /v2/token/refresh answered ${status}`;
    throw new TokenError('http_status', isDevelopment ? what + statusRemedy(status, baseUrl) : what, details);
  }
  return { result: await open(text, set.responseKeyB64, details, baseUrl), dateMs };
}

/**
 * Read a body of up to {@link MAX_CHARACTERS}, because an endless one would block the page. Of a longer body, keep only the first
 * character: it is no valid response, but it tells an HTML page from other text.
 */
async function readText(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (!reader) return response.text();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += decoder.decode(value, { stream: true });
    if (text.length > MAX_CHARACTERS) {
      ignoreFailure(() => reader.cancel());
      return text.trimStart().slice(0, 1);
    }
  }
}

/**
 * Decrypt and parse the body of a 200 response. No error quotes the decrypted text. A production page needs only the error code,
 * so this function does without `openRefresh` of `envelope.ts`, which explains every fault.
 */
async function open(text: string, keyB64: string, details: TokenErrorDetails, baseUrl: string): Promise<Answer> {
  let code: ErrorCode = 'malformed_response';
  try {
    const sealed = fromB64(text);
    if (sealed.length >= MIN_SEALED_LENGTH) code = 'decrypt_failed';
    const plain = await openAes(await aesKey(fromB64(keyB64)), sealed);
    code = 'malformed_response';
    return parsePlainAnswer(JSON.parse(fromUtf8(plain)));
  } catch {
    throw new TokenError(code, isDevelopment ? unopenedFault(code, text, baseUrl) : undefined, details);
  }
}

/** Say why a response was not decrypted; for the development build. */
function unopenedFault(code: ErrorCode, text: string, baseUrl: string): string {
  return code === 'decrypt_failed' ? UNOPENED : MALFORMED + unsealedReason(text, baseUrl);
}
