/**
 * Opens the envelope in a request body, which is bytes or base64 (docs/protocol.md, "Envelopes"). A body is never parsed as a
 * form: real clients send base64 as `application/x-www-form-urlencoded`, and form parsing would damage it.
 */

import type { Bytes } from '../../token/bytes.ts';
import { kindOf } from '../../token/checks.ts';
import { type AesKey, TAG_LENGTH } from '../../token/cipher.ts';
import { isTokenError, type Message, openRequest, REQUEST_VERSION, SMALLEST_REQUEST } from '../../token/index.ts';
import { decodeB64, encodeB64 } from '../crypto/base64.ts';
import type { Scope } from '../crypto/secrets.ts';
import { BODY_MISSING, clientError, type EndpointResult, NOT_BASE64 } from '../endpoints/result.ts';
import { CLOCK_WINDOW_MS } from '../ports/envelopes.ts';

export interface OpenedRequest {
  /** The JSON object; undefined if the envelope is empty. */
  readonly payload: Record<string, unknown> | undefined;
  /** 8 bytes, repeated in the answer. */
  readonly nonce: Bytes;
  /** The time inside, epoch ms. */
  readonly sealedAt: number;
  /** The error to answer if that time is too far from the operator's, or if the payload is not an object. */
  readonly fault: EndpointResult | undefined;
  /** Authentication tag of the envelope, base64. */
  readonly tag: string;
  /** Whether to answer with bytes instead of base64. */
  readonly binary: boolean;
}

/** Each scope has its own documentation. */
function messagesOf(site: string) {
  const page = `https://${site}/docs/getting-started/gs-encryption-decryption`;
  const hint = ` See ${page} for details on the request envelope format.`;
  return {
    missing: BODY_MISSING,
    json: `Invalid body: The request body is unencrypted JSON. It must be an encrypted request envelope. See ${page}#encryption-and-decryption-code-examples for encryption and decryption code examples.`,
    base64: NOT_BASE64 + hint,
    short: `Invalid body: Body too short. Check encryption method.${hint}`,
    version: (version: number) =>
      `Invalid body: Invalid request envelope format version: received ${version}, must be ${REQUEST_VERSION}.${hint}`,
    key: `Invalid body: Check encryption key (ClientSecret).${hint}`,
    time: 'Invalid timestamp: Request too old or client time drift.',
    payload: 'Invalid payload in body: Data is not valid json string.',
  };
}

type Messages = ReturnType<typeof messagesOf>;
const MESSAGES: Readonly<Record<Scope, Messages>> = {
  UID2: messagesOf('unifiedid.com'),
  EUID: messagesOf('euid.eu'),
};

/** Bytes that are not UTF-8 become replacement characters, which are invalid here in both JSON and base64. */
function decodeText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return kindOf(value) === 'object' ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

export function isCurrent(sealedAt: number, now: number): boolean {
  return Math.abs(now - sealedAt) < CLOCK_WINDOW_MS;
}

async function openEnvelope(
  bytes: Bytes,
  key: AesKey,
  now: number,
  messages: Messages,
): Promise<Omit<OpenedRequest, 'binary'> | EndpointResult> {
  const malformed = (message: string): EndpointResult =>
    clientError(parseObject(decodeText(bytes)) ? messages.json : message);
  if (bytes.length === 0) return clientError(messages.missing);
  if (bytes.length < SMALLEST_REQUEST) return malformed(messages.short);
  if (bytes[0] !== REQUEST_VERSION) return malformed(messages.version(bytes[0]!));
  let message: Message;
  try {
    message = await openRequest(key, bytes);
  } catch (error) {
    return clientError(isTokenError(error) && error.code === 'decrypt_failed' ? messages.key : messages.payload);
  }
  const { at: sealedAt, nonce, json } = message;
  const payload = json === '' ? undefined : parseObject(json);
  const payloadFault = json !== '' && !payload ? clientError(messages.payload) : undefined;
  const fault = isCurrent(sealedAt, now) ? payloadFault : clientError(messages.time);
  return { payload, nonce, sealedAt, fault, tag: encodeB64(bytes.subarray(-TAG_LENGTH)) };
}

/** @param binary  whether the content type announces bytes. Base64 is accepted all the same, and answered with base64. */
export async function openBody(
  body: Bytes,
  binary: boolean,
  key: AesKey,
  now: number,
  scope: Scope,
): Promise<OpenedRequest | EndpointResult> {
  const messages = MESSAGES[scope];
  const fromBytes = binary ? await openEnvelope(body, key, now, messages) : undefined;
  if (fromBytes && 'nonce' in fromBytes) return { ...fromBytes, binary: true };
  const decoded = decodeB64(body);
  if (fromBytes && !decoded?.length) return fromBytes;
  if (!decoded) return clientError(parseObject(decodeText(body)) ? messages.json : messages.base64);
  const fromB64 = await openEnvelope(decoded, key, now, messages);
  return 'nonce' in fromB64 ? { ...fromB64, binary: false } : fromB64;
}
