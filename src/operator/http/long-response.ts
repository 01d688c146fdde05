/**
 * Answers too long to be held in memory by the dozen: a million salt buckets are 70 MB, and as much again sealed.
 *
 * They are written when somebody reads them, one at a time for the whole operator: the others wait their turn. An
 * answer that nobody reads costs nothing; a reader who stops half-way loses the turn after a while.
 */

import { b64Bytes } from '../crypto/base64.ts';

/** Hands out turns, one at a time, in order. */
export interface Turns {
  /** Resolves when the turn has come; call the result once, when done. */
  take(): Promise<() => void>;
}

export function createTurns(): Turns {
  let last: Promise<void> = Promise.resolve();
  return {
    take: async () => {
      const before = last;
      let done: () => void = () => {};
      last = new Promise((resolve) => {
        done = resolve;
      });
      await before;
      return done;
    },
  };
}

/** How long one answer may be under way, ms. */
const TURN_MS = 60_000;
// A multiple of three, so that the base64 of the pieces is the base64 of the whole.
const PIECE = 3 * 2 ** 16;

/**
 * A body that is written when its turn comes.
 *
 * @param write   makes the whole: called once, when the first piece is asked for and the turn has come.
 * @param binary  bytes as they are, else base64 text.
 */
export function longBody(
  turns: Turns,
  write: () => Promise<Uint8Array<ArrayBuffer>>,
  binary: boolean,
): ReadableStream<Uint8Array> {
  let whole: Uint8Array<ArrayBuffer> | undefined;
  let at = 0;
  let left = false;
  let leave = (): void => {
    left = true;
  };

  // Begin the turn; `leave` ends it, however often it is called.
  const begin = async (tooLate: () => void): Promise<void> => {
    const done = await turns.take();
    if (left) return done();
    const late = setTimeout(() => {
      leave();
      tooLate();
    }, TURN_MS);
    leave = () => {
      left = true;
      whole = undefined;
      clearTimeout(late);
      done();
    };
    const made = await write();
    if (!left) whole = made;
  };

  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          if (!whole) await begin(() => controller.error(new Error('expected the answer to be read in time')));
          // Cancelled, or too late: nobody waits for the rest.
          if (!whole) return;
          const piece = whole.subarray(at, (at += PIECE));
          controller.enqueue(binary ? piece : b64Bytes(piece));
          if (at < whole.length) return;
          leave();
          controller.close();
        } catch (error) {
          leave();
          throw error;
        }
      },
      cancel: () => leave(),
    },
    // Nothing is written ahead of its reader.
    { highWaterMark: 0 },
  );
}
