/** Reads a body as a stream, up to a limit, which counts bytes after decompression: 400 kB of gzip may be 2 GB. */

import type { Bytes } from '../../token/bytes.ts';

/** Highest number of bytes in an answer for one user, or in an answer other than 200: 64 KiB. */
export const MAX_ANSWER_BYTES = 65_536;
/** Highest number of bytes in an answer to a batch, 16 MiB: 5,000 results take less than 2 MB. */
export const MAX_BATCH_ANSWER_BYTES = 16 * 2 ** 20;
/** Highest number of bytes in a list of salt buckets, 160 MiB: a million buckets take 93 MB. */
export const MAX_LIST_ANSWER_BYTES = 160 * 2 ** 20;

/** If the body is longer than the limit, `isComplete` is false and `bytes` is its start. */
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

export async function readBytes(message: Pick<Response, 'body' | 'arrayBuffer'>, maxBytes: number): Promise<ReadBody> {
  const { body } = message;
  // A replacement for `fetch` may have no streams, or those of Node, as in node-fetch. It limits the body itself, if at all.
  if (typeof body?.getReader !== 'function') {
    const bytes = new Uint8Array(await message.arrayBuffer());
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
