/** Reads bodies up to a size limit. Hono's middleware opens each one as a stream: in Node, longer than the rest of a refresh. */

import type { Bytes } from '../../token/bytes.ts';

/** Size limit of a body, bytes. A larger body is answered with 413. */
export const MAX_BODY_BYTES = 1_048_576;
/** Size limit of the body of a refresh, bytes. Refresh tokens have 388 characters. */
export const MAX_REFRESH_BYTES = 4096;

function announcedLength({ headers }: Request): number | undefined {
  const text = headers.get('content-length');
  return text === null || headers.has('transfer-encoding') ? undefined : Number(text);
}

export function announcesMoreThan(request: Request, maxBytes: number): boolean {
  return Number(request.headers.get('content-length') ?? 0) > maxBytes;
}

/** How much of a body is read and discarded after its answer. A connection can be used again only after the whole body. */
const MAX_DISCARDED_BYTES = 64 * MAX_BODY_BYTES;

async function discard(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  for (let length = 0; length < MAX_DISCARDED_BYTES; ) {
    const { done, value } = await reader.read();
    if (done) return;
    length += value.length;
  }
  await reader.cancel();
}

/** The first buffer for a body without an announced length, bytes. */
const FIRST_BYTES = 16_384;

/** Copied into one buffer, because a list of one-byte chunks would take a hundred times the memory of the body. */
async function readStream(body: ReadableStream<Uint8Array>, maxBytes: number): Promise<Bytes | undefined> {
  // It grows: most bodies are short, and large buffers cost a garbage collection each.
  let bytes = new Uint8Array(Math.min(FIRST_BYTES, maxBytes));
  let length = 0;
  for (const reader = body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return bytes.slice(0, length);
    if (length + value.length > maxBytes) {
      // The answer does not wait for the rest.
      discard(reader).catch(() => {});
      return undefined;
    }
    if (length + value.length > bytes.length) {
      const former = bytes;
      bytes = new Uint8Array(Math.min(2 * (length + value.length), maxBytes));
      bytes.set(former);
    }
    bytes.set(value, length);
    length += value.length;
  }
}

/** Undefined if it is larger than `maxBytes`. If the caller disconnects, it counts as empty: nobody reads the answer. */
export async function readBody(request: Request, maxBytes: number = MAX_BODY_BYTES): Promise<Bytes | undefined> {
  if (announcesMoreThan(request, maxBytes)) return undefined;
  try {
    // The host enforces an announced length. Without one, the body may be endless.
    if (announcedLength(request) !== undefined) return new Uint8Array(await request.arrayBuffer());
    return request.body ? await readStream(request.body, maxBytes) : new Uint8Array();
  } catch {
    return new Uint8Array();
  }
}

/** Memory for the bodies of one participant at any time, bytes: three times as much as the server client sends in parallel. */
export const MAX_BODY_MEMORY = 64 * MAX_BODY_BYTES;

export function createBodyMemory() {
  const used = new Map<string, number>();
  return {
    /** Reserve the announced length, or the size limit. Returns the release; undefined if the participant has too much. */
    reserve: (participant: string, request: Request): (() => void) | undefined => {
      const bytes = announcedLength(request) ?? MAX_BODY_BYTES;
      const before = used.get(participant) ?? 0;
      if (before + bytes > MAX_BODY_MEMORY) return undefined;
      used.set(participant, before + bytes);
      return () => {
        const left = used.get(participant)! - bytes;
        if (left > 0) used.set(participant, left);
        else used.delete(participant);
      };
    },
  };
}
