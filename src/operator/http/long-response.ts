/**
 * Response bodies too large to hold several of them in memory: a million salt buckets are 70 MB of JSON, and as much
 * again when sealed.
 *
 * Such a body is made when its reader asks for the first chunk, and one at a time for the whole operator. A body that
 * nobody reads costs nothing. A reader that stops half-way loses its turn after {@link MAX_READ_MS}.
 */

import { encodeB64Ascii } from '../crypto/base64.ts';

/** A lock that is granted in the order of the requests for it. */
export interface Mutex {
  /** Resolve when the lock is granted. Call the result once to release the lock. */
  acquire(): Promise<() => void>;
}

/** Create a lock. */
export function createMutex(): Mutex {
  let last: Promise<void> = Promise.resolve();
  return {
    acquire: async () => {
      const previous = last;
      let release: () => void = () => {};
      last = new Promise((resolve) => {
        release = resolve;
      });
      await previous;
      return release;
    },
  };
}

/** Longest time from the first chunk of a body to its last, ms. */
const MAX_READ_MS = 60_000;
// A multiple of three bytes, so the concatenated base64 of the chunks is the base64 of the whole body.
const CHUNK_BYTES = 3 * 2 ** 16;

/**
 * Create a body that is made when it is read and holds `mutex`.
 *
 * @param write   makes the whole body; called once, after the lock is granted.
 * @param binary  true to send the bytes, false to send their base64.
 */
export function longBody(
  mutex: Mutex,
  write: () => Promise<Uint8Array<ArrayBuffer>>,
  binary: boolean,
): ReadableStream<Uint8Array> {
  let content: Uint8Array<ArrayBuffer> | undefined;
  let offset = 0;
  let ended = false;
  let end = (): void => {
    ended = true;
  };

  // From here on `end` also releases the lock. It may be called more than once.
  const start = async (onTimeout: () => void): Promise<void> => {
    const release = await mutex.acquire();
    if (ended) return release();
    const timer = setTimeout(() => {
      end();
      onTimeout();
    }, MAX_READ_MS);
    end = () => {
      ended = true;
      content = undefined;
      clearTimeout(timer);
      release();
    };
    const written = await write();
    if (!ended) content = written;
  };

  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const seconds = MAX_READ_MS / 1000;
        try {
          if (!content)
            await start(() => controller.error(new Error(`expected the body to be read within ${seconds} s`)));
          // Cancelled or timed out while the body was made.
          if (!content) return;
          const chunk = content.subarray(offset, (offset += CHUNK_BYTES));
          controller.enqueue(binary ? chunk : encodeB64Ascii(chunk));
          if (offset < content.length) return;
          end();
          controller.close();
        } catch (error) {
          end();
          throw error;
        }
      },
      cancel: () => end(),
    },
    // With the default of 1 the stream would make its body before anyone reads it.
    { highWaterMark: 0 },
  );
}
