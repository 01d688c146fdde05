/** One request to the service: encrypt, send, check, decrypt, parse. Knows envelopes (docs/protocol.md) and HTTP. */

import { type Bytes, fromB64, toB64 } from '../../token/bytes.ts';
import { kindOf, ownMembers, requestOptions } from '../../token/checks.ts';
import { type AesKey, aesKey } from '../../token/cipher.ts';
import { NONCE_LENGTH, openRefresh, openResponse, SMALLEST_RESPONSE, sealRequest } from '../../token/envelope.ts';
import { TokenError } from '../../token/errors.ts';
import type { CallLimits, ClientSettings } from '../options.ts';
import { errorAt200, isInstant, unusableAnswer } from './answer-fields.ts';
import { withDeadline } from './deadline.ts';
import { networkError } from './network-error.ts';
import { requestName } from './paths.ts';
import { MAX_ANSWER_BYTES, type ReadBody, readBytes } from './read-response.ts';
import { redacted, responseError } from './response-errors.ts';

export interface ServiceAnswer {
  readonly status: 'success' | 'optout';
  readonly body: unknown;
  /** The service's clock when it answered, epoch ms; undefined for a refresh, whose answer contains no time. */
  readonly answeredAt: number | undefined;
  /** Every string in `body` is printable ASCII without a space. The strings of a large answer then need no individual check. */
  readonly isPrintable: boolean;
}

/**
 * Parsed when called. Until then it is one string: parsed, each answer that waits would be some ten thousand objects, which the
 * promises that delivered them would keep in memory until a full garbage collection.
 */
export type Lazy<T> = () => T;

/** One attempt at an endpoint. Rejects, or throws while parsing, with the TokenErrors that {@link createCall} lists. */
export interface Call {
  sealed(path: string, payload: unknown, options: CallLimits): Promise<Lazy<ServiceAnswer>>;
  /** Send a refresh token unencrypted; the answer is encrypted with the response key of its set. */
  refresh(path: string, token: string, responseKeyB64: string, options: CallLimits): Promise<ServiceAnswer>;
}

const BINARY = 'application/octet-stream';
/** The start of base64, JSON or a page in ASCII; or of a page whose first words are not ASCII. */
const TEXT = /^(?:[\s\x20-\x7e]*$|\W*<(?:!doctype|html|\?xml))/i;
const SEARCHED = 64;

/**
 * A proxy may change the content type, so the first bytes of an answer decide. Encrypted ones are all printable once in 10^17.
 */
function holdsText(bytes: Bytes): boolean {
  return TEXT.test(String.fromCharCode(...bytes.subarray(0, SEARCHED)));
}

/**
 * Whether all strings in a JSON text of `bytes` bytes of UTF-8 are printable ASCII without a space. The text is ASCII if it has
 * as many characters as bytes. JSON permits control characters only as escapes, except DEL.
 */
function isPrintable(json: string, bytes: number | undefined): boolean {
  return json.length === bytes && !json.includes('\\') && !json.includes(' ') && !json.includes('\x7f');
}

interface Decrypted {
  readonly json: string;
  readonly answeredAt?: number;
  /** Length of the JSON in UTF-8. */
  readonly bytes?: number;
}

function parse(path: string, apiKey: string, { json, answeredAt, bytes }: Decrypted): ServiceAnswer {
  let answer: unknown;
  try {
    answer = JSON.parse(json);
  } catch {
    throw unusableAnswer(path, 'expected JSON, got other text');
  }
  const { status, body, message } = ownMembers(answer);
  if (status === 'success' || status === 'optout')
    return { status, body, answeredAt, isPrintable: isPrintable(json, bytes) };
  if (status === 'insufficient_user_consent')
    throw errorAt200('no_consent', path, "the user's consent string does not permit a token");
  if (typeof status !== 'string') throw unusableAnswer(path, `status: expected string, got ${kindOf(status)}`);
  const explanation = typeof message === 'string' ? `: ${redacted(message, apiKey)}` : '';
  const got = redacted(status, apiKey);
  throw errorAt200('client_error', path, `status: expected success or optout, got ${got}${explanation}`);
}

function decodeText(bytes: Bytes): string {
  return new TextDecoder().decode(bytes);
}

function decodeB64(path: string, text: string): Bytes {
  try {
    return fromB64(text);
  } catch {
    const got = text.trimStart().startsWith('<') ? 'an HTML page: is baseUrl that of an operator?' : 'other text';
    throw unusableAnswer(path, `expected base64, got ${got}`);
  }
}

/** The errors of `token/envelope.ts` mention neither the request nor the status. */
async function withRequest<T>(path: string, decrypting: Promise<T>): Promise<T> {
  try {
    return await decrypting;
  } catch (e) {
    if (!(e instanceof TokenError)) throw e;
    throw errorAt200(e.code, path, e.message, e.cause);
  }
}

/**
 * @throws {TokenError} (each call) `network`; `timeout`; `unauthorized` 401; `rate_limited` 429; `client_error`, `clock_skew`,
 *   `refresh_rejected` 400; `http_status` any other; and for a 200: `malformed_response`, `decrypt_failed`, `nonce_mismatch`,
 *   `no_consent`, `client_error` if its status is neither `success` nor `optout`.
 */
export function createCall(settings: ClientSettings): Call {
  const { baseUrl, apiKey, secret, binary, fetch, now } = settings;
  // Keep the key, not its promise: on Cloudflare Workers, a promise belongs to the request that created it.
  let key: AesKey | undefined;

  const post = async (
    path: string,
    body: string | Bytes,
    signal: AbortSignal,
    maxBytes: number = MAX_ANSWER_BYTES,
  ): Promise<Bytes> => {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      'content-type': typeof body === 'string' ? 'text/plain' : BINARY,
    };
    // With `manual`, a redirect arrives as a 3xx answer and fails here. Cloudflare Workers do not support `error`.
    const init = requestOptions({ method: 'POST', headers, body, signal, redirect: 'manual' });
    let response: Response;
    let answer: ReadBody;
    try {
      response = await fetch(baseUrl + path, init);
      answer = await readBytes(response, response.status === 200 ? maxBytes : MAX_ANSWER_BYTES);
    } catch (cause) {
      throw networkError(path, baseUrl, cause);
    }
    const { bytes, isComplete } = answer;
    if (response.status !== 200) throw responseError(path, response, decodeText(bytes), settings);
    if (!isComplete) throw unusableAnswer(path, `expected at most ${maxBytes} bytes, got more`);
    return bytes;
  };

  return {
    sealed: (path, payload, { signal: outer, timeoutMs, maxBytes }) =>
      withDeadline(requestName(path), timeoutMs, outer, async (signal) => {
        key ??= await aesKey(secret);
        const nonce = crypto.getRandomValues(new Uint8Array(NONCE_LENGTH));
        const envelope = await sealRequest(key, { at: now(), nonce, json: JSON.stringify(payload) });
        const answer = await post(path, binary ? envelope : toB64(envelope), signal, maxBytes);
        const bytes = holdsText(answer) ? decodeB64(path, decodeText(answer)) : answer;
        const message = await withRequest(path, openResponse(key, bytes));
        if (message.nonce.some((byte, i) => byte !== nonce[i]))
          throw errorAt200('nonce_mismatch', path, 'expected the nonce of this request, got another');
        const { at: answeredAt, json } = message;
        if (!isInstant(answeredAt)) throw unusableAnswer(path, 'time: expected epoch milliseconds, got another number');
        // Not inside the function, because a waiting answer must keep only one string, without its ciphertext.
        const decrypted = { json, answeredAt, bytes: bytes.length - SMALLEST_RESPONSE };
        return () => parse(path, apiKey, decrypted);
      }),

    refresh: (path, token, responseKeyB64, { signal: outer, timeoutMs }) =>
      withDeadline(requestName(path), timeoutMs, outer, async (signal) => {
        const bytes = await post(path, token, signal);
        const json = await withRequest(path, openRefresh(decodeText(bytes), responseKeyB64));
        return parse(path, apiKey, { json });
      }),
  };
}
