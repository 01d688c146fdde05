/**
 * Bodies as they arrive: text or bytes, base64 or not, an envelope or something else.
 *
 * A body is never decoded as a form, whatever its content type says: real clients send base64 under
 * `application/x-www-form-urlencoded`, and decoding would damage it. Next: an endpoint reads the payload.
 *
 * @see shared wire facts 1.1 to 1.3 and 1.7
 */

import type { Bytes } from '../../token/bytes.ts';
import type { AesKey } from '../../token/cipher.ts';
import { isTokenError, type Message, openRequest, REQUEST_VERSION, SMALLEST_REQUEST } from '../../token/index.ts';
import { readB64 } from '../crypto/base64.ts';
import type { Reply } from '../endpoints/result.ts';
import { clientError, isObject } from '../endpoints/result.ts';

/** A request whose envelope has been opened. */
export interface Opened {
  /** The JSON object; undefined where the envelope held no payload. */
  readonly payload: Record<string, unknown> | undefined;
  /** 8 bytes, to be repeated in the answer. */
  readonly nonce: Bytes;
  /** Answer in bytes rather than base64 text. */
  readonly binary: boolean;
}

const ENCRYPTION_PAGE = 'https://unifiedid.com/docs/getting-started/gs-encryption-decryption';
const HINT = ` See ${ENCRYPTION_PAGE} for details on the request envelope format.`;
const MESSAGES = {
  missing: 'Invalid body: Body is missing.',
  json: `Invalid body: The request body is unencrypted JSON. It must be an encrypted request envelope. See ${ENCRYPTION_PAGE}#encryption-and-decryption-code-examples for encryption and decryption code examples.`,
  base64: 'Invalid body: Body is not valid base64.',
  short: `Invalid body: Body too short. Check encryption method.${HINT}`,
  key: `Invalid body: Check encryption key (ClientSecret).${HINT}`,
  time: 'Invalid timestamp: Request too old or client time drift.',
  payload: 'Invalid payload in body: Data is not valid json string.',
};
/** The message for a body that is no base64, where no envelope was expected. */
export const NOT_BASE64 = MESSAGES.base64;
export const BODY_MISSING = MESSAGES.missing;

/** A request's clock may differ from the operator's by less than this, ms, either way. */
export const CLOCK_WINDOW_MS = 120_000;

/** A body as text; what is no UTF-8 is no base64 either, and refused for that. */
const textOf = (body: Uint8Array): string => new TextDecoder().decode(body);

const objectIn = (text: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

const openEnvelope = async (bytes: Bytes, key: AesKey, at: number): Promise<Omit<Opened, 'binary'> | Reply> => {
  const wrong = (message: string): Reply => clientError(objectIn(textOf(bytes)) ? MESSAGES.json : message);
  if (bytes.length === 0) return clientError(MESSAGES.missing);
  if (bytes.length < SMALLEST_REQUEST) return wrong(MESSAGES.short);
  if (bytes[0] !== REQUEST_VERSION)
    return wrong(
      `Invalid body: Invalid request envelope format version: received ${bytes[0]}, must be ${REQUEST_VERSION}.${HINT}`,
    );
  let sealed: Message;
  try {
    sealed = await openRequest(key, bytes);
  } catch (error) {
    return clientError(isTokenError(error) && error.code === 'decrypt_failed' ? MESSAGES.key : MESSAGES.payload);
  }
  if (!(Math.abs(at - sealed.at) < CLOCK_WINDOW_MS)) return clientError(MESSAGES.time);
  const payload = sealed.json === '' ? undefined : objectIn(sealed.json);
  if (sealed.json !== '' && !payload) return clientError(MESSAGES.payload);
  return { payload, nonce: sealed.nonce };
};

/**
 * Open the body of a sealed request.
 *
 * @param binary  the content type says bytes; base64 text is understood all the same, and answered with text.
 * @param at      the operator's instant, epoch ms.
 * @returns       the opened request, or the refusal.
 */
export async function openBody(body: Bytes, binary: boolean, key: AesKey, at: number): Promise<Opened | Reply> {
  if (binary) {
    const raw = await openEnvelope(body, key, at);
    if ('nonce' in raw) return { ...raw, binary };
    const decoded = readB64(body);
    if (!decoded?.length) return raw;
    const opened = await openEnvelope(decoded, key, at);
    return 'nonce' in opened ? { ...opened, binary: false } : opened;
  }
  const decoded = readB64(body);
  if (!decoded) return clientError(objectIn(textOf(body)) ? MESSAGES.json : MESSAGES.base64 + HINT);
  const opened = await openEnvelope(decoded, key, at);
  return 'nonce' in opened ? { ...opened, binary } : opened;
}
