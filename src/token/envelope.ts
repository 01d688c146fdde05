/**
 * The envelopes of requests and answers: bytes in, bytes out (docs/protocol.md, "Envelopes").
 *
 * | envelope | layout | key |
 * |---|---|---|
 * | request | version 1 [1], iv[12], ciphertext[n], tag[16] | client secret |
 * | response | iv[12], ciphertext[n], tag[16] | client secret |
 * | refresh response | iv[12], ciphertext[n], tag[16] | `refresh_response_key` of the set that was sent |
 *
 * Plaintext of the first two: time[8] (epoch ms, signed, big-endian), nonce[8], JSON (UTF-8). Of the third: only the JSON.
 */

import { type Bytes, concat, fromB64, fromUtf8, int64, readInt64, utf8 } from './bytes.ts';
import { type AesKey, aesKey, MIN_SEALED_LENGTH, openAes, sealAes } from './cipher.ts';
import { expectedGot, TokenError } from './errors.ts';

/** The first byte of every request envelope. */
export const REQUEST_VERSION = 1;
/** Length of the nonce of a request or response, bytes. */
export const NONCE_LENGTH = 8;
const HEADER_LENGTH = 8 + NONCE_LENGTH;
/** Length of a request envelope without payload, the shortest one: 45 bytes. */
export const SMALLEST_REQUEST = 1 + MIN_SEALED_LENGTH + HEADER_LENGTH;
/** Length of a response envelope without payload: 44 bytes. */
export const SMALLEST_RESPONSE = SMALLEST_REQUEST - 1;

/** The content of a request or response envelope. */
export interface Message {
  /** The sender's clock, epoch ms. */
  readonly at: number;
  /** 8 bytes; a response repeats those of the request. */
  readonly nonce: Bytes;
  /** JSON text; empty for a request without payload. */
  readonly json: string;
}

/** A {@link Message} to be sealed. `json` may be UTF-8 bytes, because an answer may be too long for one string. */
export interface OutgoingMessage extends Omit<Message, 'json'> {
  readonly json: string | Bytes;
}

/**
 * Seal a request under the client secret.
 *
 * @param iv  12 bytes, for test vectors only. Default: random.
 * @returns   version[1] = 1, iv[12], ciphertext[16 + n], tag[16].
 * @example
 * const nonce = crypto.getRandomValues(new Uint8Array(NONCE_LENGTH));
 * const body = await sealRequest(key, { at: Date.now(), nonce, json: '{"email":"user@example.com"}' });
 */
export async function sealRequest(key: AesKey, request: Message, iv?: Bytes): Promise<Bytes> {
  return concat(Uint8Array.of(REQUEST_VERSION), await sealAes(key, plaintextOf(request), iv));
}

/**
 * Open a request envelope. The caller has checked its version byte and its length.
 *
 * @throws {TokenError} `malformed_response`: too short, or not UTF-8; `decrypt_failed`: wrong secret, or altered bytes.
 * @example if (envelope[0] === REQUEST_VERSION) request = await openRequest(key, envelope);
 */
export function openRequest(key: AesKey, envelope: Bytes): Promise<Message> {
  return openMessage(key, envelope.subarray(1));
}

/**
 * Seal a response under the client secret of the caller: iv[12], ciphertext[16 + n], tag[16].
 *
 * @example const body = await sealResponse(key, { at: Date.now(), nonce: request.nonce, json });
 */
export function sealResponse(key: AesKey, response: OutgoingMessage): Promise<Bytes> {
  return sealAes(key, plaintextOf(response));
}

/**
 * Open a response, iv[12], ciphertext[16 + n], tag[16]. The caller compares its nonce with the one of the request.
 *
 * @throws {TokenError} `malformed_response`: too short, or not UTF-8; `decrypt_failed`: wrong secret, or altered bytes.
 * @example const { nonce, json } = await openResponse(key, new Uint8Array(await response.arrayBuffer()));
 */
export function openResponse(key: AesKey, sealed: Bytes): Promise<Message> {
  return openMessage(key, sealed);
}

/**
 * Seal the answer to a refresh, only the JSON without time and nonce: iv[12], ciphertext[n], tag[16].
 *
 * @example const body = toB64(await sealRefresh(await aesKey(responseKey), '{"status":"optout"}'));
 */
export function sealRefresh(key: AesKey, json: string): Promise<Bytes> {
  return sealAes(key, utf8(json));
}

/**
 * Open the answer to a refresh. Returns the JSON; unlike other answers it has no time and no nonce.
 *
 * @param bodyB64  body of the response: base64 of iv[12], ciphertext[n], tag[16].
 * @param keyB64   AES-256 key, base64 of 32 bytes: `refresh_response_key` of the set that was sent.
 * @throws {TokenError} `malformed_response`: not base64, under 28 bytes, or not UTF-8; `decrypt_failed`: wrong key or bytes.
 * @example const answer = parseAnswer(JSON.parse(await openRefresh(await response.text(), set.responseKeyB64)));
 */
export async function openRefresh(bodyB64: string, keyB64: string): Promise<string> {
  let sealed: Bytes;
  try {
    sealed = fromB64(bodyB64);
  } catch (cause) {
    const fault = expectedGot('refresh response', 'base64', `another string of ${bodyB64.length} characters`);
    throw new TokenError('malformed_response', fault, { cause });
  }
  return textOf(await open(() => aesKey(fromB64(keyB64)), sealed));
}

function plaintextOf({ at, nonce, json }: OutgoingMessage): Bytes {
  return concat(int64(at), nonce, typeof json === 'string' ? utf8(json) : json);
}

async function openMessage(key: AesKey, sealed: Bytes): Promise<Message> {
  const plaintext = await open(() => key, sealed);
  if (plaintext.length < HEADER_LENGTH)
    throw new TokenError('malformed_response', expectedGot('plaintext', 'time and nonce', `${plaintext.length} bytes`));
  return {
    at: readInt64(plaintext, 0),
    nonce: plaintext.slice(8, HEADER_LENGTH),
    json: textOf(plaintext.subarray(HEADER_LENGTH)),
  };
}

/** Decrypt. If `keyOf` throws because the key is invalid, that is a failed decryption like any other. */
async function open(keyOf: () => AesKey | Promise<AesKey>, sealed: Bytes): Promise<Bytes> {
  if (sealed.length < MIN_SEALED_LENGTH) {
    const fault = expectedGot('envelope', `${MIN_SEALED_LENGTH} bytes or more`, `${sealed.length} bytes`);
    throw new TokenError('malformed_response', fault);
  }
  try {
    return await openAes(await keyOf(), sealed);
  } catch (cause) {
    const fault = 'envelope: decryption failed: the key is wrong, or the bytes were altered';
    throw new TokenError('decrypt_failed', fault, { cause });
  }
}

function textOf(bytes: Uint8Array): string {
  try {
    return fromUtf8(bytes);
  } catch (cause) {
    const fault = expectedGot('plaintext', 'UTF-8', 'other bytes');
    throw new TokenError('malformed_response', fault, { cause });
  }
}
