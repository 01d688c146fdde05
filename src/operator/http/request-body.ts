/**
 * Reads the body of a request, up to a size limit.
 *
 * Hono's body-limit middleware is not used: it opens every body as a stream, which takes longer under Node than all the
 * rest of a refresh.
 */

import type { Bytes } from '../../token/bytes.ts';

/** Size limit of a body, bytes. A larger one is answered with 413 before the caller is identified. */
export const MAX_BODY_BYTES = 1_048_576;

const readStream = async (body: ReadableStream<Uint8Array>): Promise<Bytes | undefined> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (const reader = body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > MAX_BODY_BYTES) {
      await reader.cancel();
      return undefined;
    }
    chunks.push(value);
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
};

/**
 * Read a body.
 *
 * @returns undefined if it is larger than {@link MAX_BODY_BYTES}. If the caller disconnects half-way the body counts as
 *   empty, because nobody reads the answer.
 */
export async function readBody(request: Request): Promise<Bytes | undefined> {
  const length = Number(request.headers.get('content-length') ?? Number.NaN);
  if (length > MAX_BODY_BYTES) return undefined;
  try {
    // The host enforces an announced length. Without one the body may be endless.
    if (!Number.isNaN(length) && !request.headers.has('transfer-encoding'))
      return new Uint8Array(await request.arrayBuffer());
    return request.body ? await readStream(request.body) : new Uint8Array();
  } catch {
    return new Uint8Array();
  }
}
