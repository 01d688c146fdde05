/**
 * Reads the body of an answer as a stream, up to a limit.
 *
 * The limit counts bytes after decompression: 400 kB of gzip may be 2 GB. This file knows nothing about endpoints.
 */

import type { Bytes } from '../token/bytes.ts';

/** Highest number of bytes in an answer for one user, or in an answer other than 200: 64 KiB. */
export const MAX_ANSWER_BYTES = 65_536;
/** Highest number of bytes in an answer to a batch, 16 MiB: 5,000 results take less than 2 MB. */
export const MAX_BATCH_ANSWER_BYTES = 16 * 2 ** 20;
/** Highest number of bytes in a list of salt buckets, 160 MiB: a million buckets take 93 MB. */
export const MAX_LIST_ANSWER_BYTES = 160 * 2 ** 20;

/**
 * The part of a body that has been read. If the body is longer than the limit, `isComplete` is false and `bytes` is its start.
 */
export interface ReadBody {
  readonly bytes: Bytes;
  readonly isComplete: boolean;
}

function join(chunks: readonly Uint8Array[], length: number): Bytes {
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    const part = chunk.subarray(0, length - offset);
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/** Read at most `maxBytes` of a body, and cancel the rest. */
export async function readBytes(response: Response, maxBytes: number): Promise<ReadBody> {
  const { body } = response;
  // A replacement for `fetch` may have no streams, or those of Node, as in node-fetch. It limits the body itself, if at all.
  if (typeof body?.getReader !== 'function') {
    const bytes = new Uint8Array(await response.arrayBuffer());
    return { bytes: bytes.subarray(0, maxBytes), isComplete: bytes.length <= maxBytes };
  }
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (length <= maxBytes) {
    const { done, value } = await reader.read();
    if (done) return { bytes: join(chunks, length), isComplete: true };
    chunks.push(value);
    length += value.length;
  }
  // Not awaited, because a source may never settle it. Cancelling ends the connection.
  reader.cancel().catch(() => {});
  return { bytes: join(chunks, maxBytes), isComplete: false };
}
