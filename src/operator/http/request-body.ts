/**
 * Reading a request's body, up to a limit.
 *
 * Hono has a middleware for this. It opens every body as a stream, which under Node costs more than all of a refresh.
 */

import type { Bytes } from '../../token/bytes.ts';

/** Bytes of an HTTP body that are read; more is answered with 413, whoever asks. */
export const MAX_BODY_BYTES = 1_048_576;

const gather = async (body: ReadableStream<Uint8Array>): Promise<Bytes | undefined> => {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (const reader = body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > MAX_BODY_BYTES) {
      await reader.cancel();
      return undefined;
    }
    pieces.push(value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
};

/**
 * Read a body.
 *
 * @returns undefined where it is larger than {@link MAX_BODY_BYTES}; nothing at all where the caller went away half-way,
 *   since nobody will read the answer.
 */
export async function readBody(request: Request): Promise<Bytes | undefined> {
  const length = Number(request.headers.get('content-length') ?? Number.NaN);
  if (length > MAX_BODY_BYTES) return undefined;
  try {
    // A length that was announced is held to by the host; without one it may go on for ever.
    if (!Number.isNaN(length) && !request.headers.has('transfer-encoding'))
      return new Uint8Array(await request.arrayBuffer());
    return request.body ? await gather(request.body) : new Uint8Array();
  } catch {
    return new Uint8Array();
  }
}
