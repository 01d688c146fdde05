/**
 * The sealed forms of requests and answers, byte by byte.
 *
 * | form | layout | key |
 * |---|---|---|
 * | request | version 1 [1], iv[12], ciphertext[n], tag[16] | client secret |
 * | response | iv[12], ciphertext[n], tag[16] | client secret |
 * | refresh response | iv[12], ciphertext[n], tag[16] | `refresh_response_key` of the set that was sent |
 *
 * The plaintext of the first two is time[8] (epoch ms), nonce[8], JSON (UTF-8); that of the third is the JSON alone.
 * It knows nothing of HTTP, base64 of bodies (but the refresh answer's, which is always text), or what the JSON says.
 */

import type { Bytes } from './bytes.ts';
import { concat, fromB64, fromUtf8, int64, readInt64, utf8 } from './bytes.ts';
import type { AesKey } from './cipher.ts';
import { aesKey, IV_LENGTH, openAes, sealAes, TAG_LENGTH } from './cipher.ts';
import type { ErrorCode } from './errors.ts';
import { TokenError } from './errors.ts';

/** First byte of every request envelope. */
export const REQUEST_VERSION = 1;
/** Bytes of a request or response nonce. */
export const NONCE_LENGTH = 8;
const HEADER_LENGTH = 8 + NONCE_LENGTH;
const SEALED_LENGTH = IV_LENGTH + TAG_LENGTH;
/** Bytes of the smallest request envelope: one with an empty payload. */
export const SMALLEST_REQUEST = 1 + SEALED_LENGTH + HEADER_LENGTH;

/** What a request or response envelope holds. */
export interface Message {
  /** The sender's clock, epoch ms. */
  readonly at: number;
  /** 8 bytes; the answer repeats the request's. */
  readonly nonce: Bytes;
  /** JSON text; empty for a request without payload. */
  readonly json: string;
}

/** The same on its way out: JSON may be UTF-8 already, where there is too much of it for one text. */
export interface OutgoingMessage extends Omit<Message, 'json'> {
  readonly json: string | Bytes;
}

const plainOf = ({ at, nonce, json }: OutgoingMessage): Bytes =>
  concat(int64(at), nonce, typeof json === 'string' ? utf8(json) : json);

const open = async (key: AesKey, sealed: Bytes): Promise<Bytes> => {
  if (sealed.length < SEALED_LENGTH)
    throw new TokenError('malformed_response', `expected ${SEALED_LENGTH} bytes or more, got ${sealed.length}`);
  try {
    return await openAes(key, sealed);
  } catch (cause) {
    throw new TokenError('decrypt_failed', 'expected bytes sealed under this key', { cause });
  }
};

const openHeaded = async (key: AesKey, sealed: Bytes): Promise<Message> => {
  const plain = await open(key, sealed);
  if (plain.length < HEADER_LENGTH)
    throw new TokenError('malformed_response', `expected time and nonce, got ${plain.length} bytes`);
  return {
    at: readInt64(plain, 0),
    nonce: plain.slice(8, HEADER_LENGTH),
    json: textOf(plain.subarray(HEADER_LENGTH)),
  };
};

const textOf = (bytes: Uint8Array): string => {
  try {
    return fromUtf8(bytes);
  } catch (cause) {
    throw new TokenError('malformed_response', 'expected UTF-8', { cause });
  }
};

/** Seal a request under the client secret. `iv` only for vectors: random where left out. */
export async function sealRequest(key: AesKey, request: Message, iv?: Bytes): Promise<Bytes> {
  return concat(Uint8Array.of(REQUEST_VERSION), await sealAes(key, plainOf(request), iv));
}

/**
 * Open a request envelope; its version byte and its length have been looked at by the caller.
 *
 * @throws {TokenError} `malformed_response` too short or no UTF-8; `decrypt_failed` wrong secret or altered bytes.
 */
export function openRequest(key: AesKey, envelope: Bytes): Promise<Message> {
  return openHeaded(key, envelope.subarray(1));
}

/** Seal an answer under the client secret of the caller. */
export function sealResponse(key: AesKey, response: OutgoingMessage): Promise<Bytes> {
  return sealAes(key, plainOf(response));
}

/**
 * Open an answer to a sealed request; the caller compares the nonce with the one that it sent.
 *
 * @throws {TokenError} `malformed_response` too short or no UTF-8; `decrypt_failed` wrong secret or altered bytes.
 */
export function openResponse(key: AesKey, sealed: Bytes): Promise<Message> {
  return openHeaded(key, sealed);
}

/** Seal a refresh answer: the JSON alone, without time and nonce. */
export function sealRefresh(key: AesKey, json: string): Promise<Bytes> {
  return sealAes(key, utf8(json));
}

/**
 * Open a refresh answer.
 *
 * @param bodyB64  Response body: base64 of iv[12], ciphertext[n], tag[16].
 * @param keyB64   AES-256 key, base64 of 32 bytes: `refresh_response_key` of the set that was sent.
 * @returns        JSON text, n bytes of UTF-8. No time-and-nonce header, unlike every other answer.
 * @throws {TokenError} `malformed_response` no base64, under 28 bytes, no UTF-8; `decrypt_failed` wrong key or altered bytes.
 */
export async function openRefresh(bodyB64: string, keyB64: string): Promise<string> {
  // What a failure means depends on how far it came.
  let code: ErrorCode = 'malformed_response';
  try {
    const sealed = fromB64(bodyB64);
    if (sealed.length >= SEALED_LENGTH) code = 'decrypt_failed';
    const plain = await openAes(await aesKey(fromB64(keyB64)), sealed);
    code = 'malformed_response';
    return fromUtf8(plain);
  } catch (cause) {
    throw new TokenError(code, undefined, { cause });
  }
}
