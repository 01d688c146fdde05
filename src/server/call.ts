/**
 * One request to the service: encrypt, send, check, decrypt, parse. `retry.ts` repeats it.
 *
 * It knows envelopes (`docs/protocol.md`, "Envelopes") and HTTP, not the fields of the endpoints.
 */

import { type Bytes, fromB64, toB64 } from '../token/bytes.ts';
import { kindOf, MAX_TIMER_MS } from '../token/checks.ts';
import { type AesKey, aesKey } from '../token/cipher.ts';
import { NONCE_LENGTH, openRefresh, openResponse, sealRequest } from '../token/envelope.ts';
import { type ErrorCode, TokenError } from '../token/errors.ts';
import { checkInteger } from './checks.ts';
import { withDeadline } from './deadline.ts';
import { networkError } from './network-error.ts';
import type { ClientSettings } from './options.ts';
import { requestName } from './paths.ts';
import { redacted, responseError } from './response-errors.ts';

/** Options of every method of the client. */
export interface CallOptions {
  /** Cancels the call: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Replaces the time limit of the client, ms. */
  readonly timeoutMs?: number | undefined;
}

/** {@link CallOptions} with the time limit filled in. */
export interface CallLimits {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
}

/** A decrypted and parsed 200 answer whose status is `success` or `optout`. */
export interface ServiceAnswer {
  readonly status: 'success' | 'optout';
  readonly body: unknown;
  /** The service's clock when it answered, epoch ms; undefined for a refresh, whose answer carries no time. */
  readonly answeredAt: number | undefined;
}

/**
 * A value that is parsed when the function is called.
 *
 * Until then it is one string. Answers that wait for their turn would otherwise be some ten thousand objects each, and the
 * promises that delivered them would keep those objects in memory until a full garbage collection.
 */
export type Lazy<T> = () => T;

/** One attempt at an endpoint. Rejects, or throws while parsing, with the TokenErrors that {@link createCall} lists. */
export interface Call {
  /** Send a payload in an encrypted envelope. */
  sealed(path: string, payload: unknown, options: CallLimits): Promise<Lazy<ServiceAnswer>>;
  /** Send a refresh token unencrypted; the answer is encrypted with the response key of its set. */
  refresh(path: string, token: string, responseKeyB64: string, options: CallLimits): Promise<ServiceAnswer>;
}

const BINARY = 'application/octet-stream';

/** Make the error for a 200 answer that cannot be used. */
export function unusableAnswer(path: string, fault: string, cause?: unknown): TokenError {
  return errorAt200('malformed_response', path, fault, cause);
}

const errorAt200 = (code: ErrorCode, path: string, fault: string, cause?: unknown): TokenError =>
  new TokenError(code, `${requestName(path)} answered 200: ${fault}`, { status: 200, cause });

const parse = (path: string, json: string, answeredAt: number | undefined): ServiceAnswer => {
  let answer: unknown;
  try {
    answer = JSON.parse(json);
  } catch {
    throw unusableAnswer(path, 'expected JSON, got other text');
  }
  const { status, body, message } = (answer ?? {}) as Record<string, unknown>;
  if (status === 'success' || status === 'optout') return { status, body, answeredAt };
  if (typeof status !== 'string') throw unusableAnswer(path, `status: expected string, got ${kindOf(status)}`);
  const explanation = typeof message === 'string' ? `: ${redacted(message)}` : '';
  throw errorAt200('client_error', path, `status: expected success or optout, got ${redacted(status)}${explanation}`);
};

const decodeB64 = (path: string, text: string): Bytes => {
  try {
    return fromB64(text);
  } catch {
    throw unusableAnswer(path, 'expected base64, got other text');
  }
};

// The errors of `token/envelope.ts` know neither the request nor the status.
const withRequest = async <T>(path: string, decrypting: Promise<T>): Promise<T> => {
  try {
    return await decrypting;
  } catch (e) {
    if (!(e instanceof TokenError)) throw e;
    throw errorAt200(e.code, path, e.message, e.cause);
  }
};

/**
 * Create the two ways of calling the service.
 *
 * @throws {TokenError} (each call) `network`; `timeout`; `unauthorized` 401; `rate_limited` 429; `client_error`,
 *   `clock_skew`, `refresh_rejected` 400; `http_status` any other; and for a 200: `malformed_response`,
 *   `decrypt_failed`, `nonce_mismatch`, `client_error` if its status is neither `success` nor `optout`.
 */
export function createCall({ baseUrl, apiKey, secret, binary, fetch, now }: ClientSettings): Call {
  // The key, not its promise: a promise on Cloudflare Workers belongs to the request that created it.
  let key: AesKey | undefined;

  const post = async <T>(
    path: string,
    body: string | Bytes,
    signal: AbortSignal,
    read: (response: Response) => Promise<T>,
  ): Promise<T> => {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      'content-type': typeof body === 'string' ? 'text/plain' : BINARY,
    };
    // With `manual` a redirect arrives as a 3xx answer and fails here. Cloudflare Workers do not support `error`.
    const init: RequestInit = { method: 'POST', headers, body, signal, redirect: 'manual' };
    let response: Response;
    let answer: T | string;
    try {
      response = await fetch(baseUrl + path, init);
      answer = response.status === 200 ? await read(response) : await response.text();
    } catch (cause) {
      throw networkError(path, baseUrl, cause);
    }
    if (response.status !== 200) throw responseError(path, response, answer as string, now());
    return answer as T;
  };

  return {
    sealed: (path, payload, { signal: outer, timeoutMs }) =>
      withDeadline(requestName(path), timeoutMs, outer, async (signal) => {
        key ??= await aesKey(secret);
        const nonce = crypto.getRandomValues(new Uint8Array(NONCE_LENGTH));
        const envelope = await sealRequest(key, { at: now(), nonce, json: JSON.stringify(payload) });
        const answer = await post(path, binary ? envelope : toB64(envelope), signal, async (response) =>
          response.headers.get('content-type')?.trim().toLowerCase() === BINARY
            ? new Uint8Array(await response.arrayBuffer())
            : response.text(),
        );
        const bytes = typeof answer === 'string' ? decodeB64(path, answer) : answer;
        const message = await withRequest(path, openResponse(key, bytes));
        if (message.nonce.some((byte, i) => byte !== nonce[i]))
          throw errorAt200('nonce_mismatch', path, 'expected the nonce of this request, got another');
        return () => parse(path, message.json, message.at);
      }),

    refresh: (path, token, responseKeyB64, { signal: outer, timeoutMs }) =>
      withDeadline(requestName(path), timeoutMs, outer, async (signal) => {
        const answer = await post(path, token, signal, (response) => response.text());
        return parse(path, await withRequest(path, openRefresh(answer, responseKeyB64)), undefined);
      }),
  };
}

/** Check the options of one call and fill in the time limit. */
export function callOptions(given: CallOptions | undefined, timeoutMs: number): CallLimits {
  return {
    signal: given?.signal,
    timeoutMs: checkInteger('timeoutMs', given?.timeoutMs ?? timeoutMs, 1, MAX_TIMER_MS),
  };
}
