/**
 * Response bodies too large to hold several of them in memory: a million salt buckets are 70 MB of JSON, and as much
 * again when sealed.
 *
 * Such a body is made when its reader asks for the first chunk, and one at a time for the whole operator. A body that
 * nobody reads costs nothing. A participant waits with one body at a time. A reader loses its turn if it takes
 * nothing for {@link MAX_IDLE_MS}, or reads so slowly that the whole body would take longer than {@link MAX_READ_MS}.
 */

import { encodeB64Ascii } from '../crypto/base64.ts';

/** The turns of one operator. */
export interface Turns {
  /** Claim a turn for a participant; undefined if that participant waits for one already. */
  claim(participant: string): Turn | undefined;
}

/** A turn of one participant. */
export interface Turn {
  /** Resolve when nobody else holds a turn. */
  acquire(): Promise<void>;
  /** Give the turn back, also while it is waited for. May be called more than once. */
  release(): void;
}

/** Create turns, which are granted in the order of the requests for them. */
export function createTurns(): Turns {
  const waiting = new Set<string>();
  let last: Promise<void> = Promise.resolve();
  return {
    claim: (participant) => {
      if (waiting.has(participant)) return undefined;
      waiting.add(participant);
      let grantNext = (): void => {};
      let isGranted = false;
      let isReleased = false;
      return {
        acquire: async () => {
          const previous = last;
          last = new Promise((resolve) => {
            grantNext = resolve;
          });
          await previous;
          isGranted = true;
          if (isReleased) grantNext();
          else waiting.delete(participant);
        },
        release: () => {
          if (isReleased) return;
          isReleased = true;
          if (isGranted) grantNext();
          else waiting.delete(participant);
        },
      };
    },
  };
}

/** Longest time between two reads, ms. */
export const MAX_IDLE_MS = 5000;
/** Longest time to read a whole body, ms. */
export const MAX_READ_MS = 60_000;
const LAST_WAIT_MS = 1000;
// A multiple of three bytes, so the concatenated base64 of the chunks is the base64 of the whole body.
const CHUNK_BYTES = 3 * 2 ** 16;

// Calls `onTimeout` when a reader is too slow.
const createReadTimer = (onTimeout: () => void) => {
  let startedAt = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Wait for the next read, after `share` of the body has been read. */
  const expectRead = (share: number): void => {
    clearTimeout(timer);
    const behindMs = Math.max(0, performance.now() - startedAt - share * MAX_READ_MS);
    // Two timers: after a pause of the whole process, reads that wait are handled between them.
    timer = setTimeout(
      () => {
        timer = setTimeout(onTimeout, LAST_WAIT_MS);
      },
      Math.max(0, MAX_IDLE_MS - LAST_WAIT_MS - behindMs),
    );
  };
  return {
    start: (): void => {
      startedAt = performance.now();
      expectRead(0);
    },
    expectRead,
    stop: () => clearTimeout(timer),
  };
};

const TOO_SLOW = `expected reads at most ${MAX_IDLE_MS / 1000} s apart, and ${MAX_READ_MS / 1000} s in all`;

/**
 * Create a body that is made when it is read and holds `turn`.
 *
 * @param write   makes the whole body; called once, after the turn is granted.
 * @param binary  true to send the bytes, false to send their base64.
 */
export function longBody(
  turn: Turn,
  write: () => Promise<Uint8Array<ArrayBuffer>>,
  binary: boolean,
): ReadableStream<Uint8Array> {
  const encode = binary ? (chunk: Uint8Array) => chunk : encodeB64Ascii;
  let content: Uint8Array<ArrayBuffer> | undefined;
  let offset = 0;
  let started: Promise<void> | undefined;
  let isEnded = false;
  let onTimeout = (): void => {};
  const timer = createReadTimer(() => onTimeout());

  const end = (): void => {
    isEnded = true;
    content = undefined;
    timer.stop();
    turn.release();
  };
  const start = async (): Promise<void> => {
    timer.stop();
    await turn.acquire();
    if (isEnded) return;
    const written = await write();
    if (isEnded) return;
    content = written;
    timer.start();
  };

  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        onTimeout = () => {
          end();
          controller.error(new Error(TOO_SLOW));
        };
        // A body whose reader never asks for the first chunk must not keep the turn of its participant.
        timer.start();
      },
      pull: async (controller) => {
        try {
          await (started ??= start());
          // Cancelled or timed out while the body was made.
          if (!content) return;
          controller.enqueue(encode(content.subarray(offset, (offset += CHUNK_BYTES))));
          const share = offset / content.length;
          if (share < 1) return timer.expectRead(share);
          end();
          controller.close();
        } catch (error) {
          end();
          throw error;
        }
      },
      cancel: end,
    },
    // With the default of 1 the stream would make its body before anyone reads it.
    { highWaterMark: 0 },
  );
}
