/**
 * One request to the service and its answer: seal, send, check, open, parse. One attempt; `retry.ts` makes more of it.
 *
 * It knows envelopes and HTTP, not what the endpoints say: that is `endpoints.ts`.
 */

import { type Bytes, fromB64, toB64 } from '../token/bytes.ts';
import { type AesKey, aesKey } from '../token/cipher.ts';
import { NONCE_LENGTH, openRefresh, openResponse, sealRequest } from '../token/envelope.ts';
import { TokenError } from '../token/errors.ts';
import { withDeadline } from './deadline.ts';
import { LONGEST_TIMER_MS, type Settings, wholeNumber } from './options.ts';
import { cleared, refusalOf } from './refusal.ts';

/** What every method takes last. */
export interface CallOptions {
  /** Gives the call up: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** In place of the client's own time-out, ms. */
  readonly timeoutMs?: number | undefined;
}

/** {@link CallOptions} with the time-out filled in. */
export interface CallLimits {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
}

/** An opened 200 answer: its status is `success` or `optout`. */
export interface Opened {
  readonly status: 'success' | 'optout';
  readonly body: unknown;
  /** The service's clock when it answered, epoch ms; undefined for a refresh, which carries none. */
  readonly answeredAt: number | undefined;
}

/**
 * An answer that is parsed when it is read.
 *
 * Until then it is text. What is parsed early and waits for its turn is some ten thousand objects for each batch, and
 * even read and forgotten they stay: whatever promise handed them over has outlived the request, and holds them until
 * the whole heap is collected.
 */
export type Unread<T> = () => T;

/** One attempt at an endpoint. Both reject, or throw when the answer is read, with the TokenErrors that {@link createCall} lists. */
export interface Call {
  /** Send a payload in a sealed envelope. */
  sealed(path: string, payload: unknown, options: CallLimits): Promise<Unread<Opened>>;
  /** Send a refresh token as it is; the answer is sealed under the key of its set. */
  refresh(path: string, token: string, responseKeyB64: string, options: CallLimits): Promise<Opened>;
}

const BINARY = 'application/octet-stream';

const parse = (path: string, json: string, answeredAt: number | undefined): Opened => {
  let answer: unknown;
  try {
    answer = JSON.parse(json);
  } catch {
    throw new TokenError('malformed_response', `${path}: expected JSON in the answer, got other text`, { status: 200 });
  }
  const { status, body, message } = (answer ?? {}) as Record<string, unknown>;
  if (status === 'success' || status === 'optout') return { status, body, answeredAt };
  if (typeof status !== 'string')
    throw new TokenError('malformed_response', `${path}: expected a status, got ${typeof status}`, { status: 200 });
  const words = [`${path} answered ${cleared(status)}`, ...(typeof message === 'string' ? [cleared(message)] : [])];
  throw new TokenError('client_error', words.join(': '), { status: 200 });
};

const bytesOf = (path: string, text: string): Bytes => {
  try {
    return fromB64(text);
  } catch {
    throw new TokenError('malformed_response', `${path}: expected base64, got other text`, { status: 200 });
  }
};

// What is wrong with a 200 answer is told with its status, as every other refusal.
const at200 = async <T>(path: string, opening: Promise<T>): Promise<T> => {
  try {
    return await opening;
  } catch (e) {
    if (!(e instanceof TokenError)) throw e;
    throw new TokenError(e.code, `${path}: ${e.message}`, { status: 200, cause: e.cause });
  }
};

/**
 * The two ways of calling the service.
 *
 * @throws {TokenError} (each call) `network`; `timeout`; `unauthorized` 401; `rate_limited` 429; `client_error`,
 *   `clock_skew`, `refresh_rejected` 400; `http_status` any other; and for a 200: `malformed_response`,
 *   `decrypt_failed`, `nonce_mismatch`, `client_error` where its status is neither `success` nor `optout`.
 */
export function createCall({ baseUrl, apiKey, secret, binary, fetch, now }: Settings): Call {
  // The key, not its promise: on Workers a promise belongs to the request that made it.
  let key: AesKey | undefined;

  const post = async <T>(
    path: string,
    body: string | Bytes,
    signal: AbortSignal,
    read: (response: Response) => Promise<T>,
  ): Promise<T> => {
    const lost = (cause: unknown) => new TokenError('network', `${path}: no answer came through`, { cause });
    const headers = {
      authorization: `Bearer ${apiKey}`,
      'content-type': typeof body === 'string' ? 'text/plain' : BINARY,
    };
    // `manual`: a redirect is an error here, and Workers know no `redirect: 'error'`.
    const init: RequestInit = { method: 'POST', headers, body, signal, redirect: 'manual' };
    let response: Response;
    let answer: T | string;
    try {
      response = await fetch(baseUrl + path, init);
      answer = response.status === 200 ? await read(response) : await response.text();
    } catch (cause) {
      throw lost(cause);
    }
    if (response.status !== 200) throw refusalOf(path, response, answer as string, now());
    return answer as T;
  };

  return {
    sealed: (path, payload, { signal: outer, timeoutMs }) =>
      withDeadline(timeoutMs, outer, async (signal) => {
        key ??= await aesKey(secret);
        const nonce = crypto.getRandomValues(new Uint8Array(NONCE_LENGTH));
        const envelope = await sealRequest(key, { at: now(), nonce, json: JSON.stringify(payload) });
        const answer = await post(path, binary ? envelope : toB64(envelope), signal, async (response) =>
          response.headers.get('content-type')?.trim().toLowerCase() === BINARY
            ? new Uint8Array(await response.arrayBuffer())
            : response.text(),
        );
        const bytes = typeof answer === 'string' ? bytesOf(path, answer) : answer;
        const opened = await at200(path, openResponse(key, bytes));
        if (opened.nonce.some((byte, i) => byte !== nonce[i]))
          throw new TokenError('nonce_mismatch', `${path}: the answer belongs to another request`, { status: 200 });
        return () => parse(path, opened.json, opened.at);
      }),

    refresh: (path, token, responseKeyB64, { signal: outer, timeoutMs }) =>
      withDeadline(timeoutMs, outer, async (signal) => {
        const answer = await post(path, token, signal, (response) => response.text());
        return parse(path, await at200(path, openRefresh(answer, responseKeyB64)), undefined);
      }),
  };
}

/** The options of one call, its time-out checked and filled in. */
export function callOptions(given: CallOptions | undefined, timeoutMs: number): CallLimits {
  return {
    signal: given?.signal,
    timeoutMs: wholeNumber('timeoutMs', given?.timeoutMs ?? timeoutMs, 1, LONGEST_TIMER_MS),
  };
}
