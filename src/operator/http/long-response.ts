/**
 * Response bodies of which memory cannot hold several: a million salt buckets are 70 MB of JSON, and as much again when sealed.
 *
 * The whole operator has at most one such body at a time, and generates it when its reader requests the first chunk. A participant may
 * wait for its turn with one request at a time, for at most {@link MAX_WAIT_MS}, because proxies close idle connections. A reader loses
 * its turn if it reads nothing for {@link MAX_IDLE_MS}, or so slowly that the whole body would take longer than {@link MAX_READ_MS}.
 */

import { TokenError } from '../../token/index.ts';
import { encodeB64Ascii } from '../crypto/base64.ts';

/** The turns of one operator. */
export interface Turns {
  /**
   * Wait for a turn.
   *
   * @returns undefined if that participant is already waiting for one, or if none was released within {@link MAX_WAIT_MS}.
   */
  acquire(participant: string): Promise<Turn | undefined>;
}

/** Permission to generate a long body. */
export interface Turn {
  /** Pass the turn to the next waiting request. May be called more than once. */
  release(): void;
}

/** Longest time that a request waits for its turn, ms. */
const MAX_WAIT_MS = 30_000;

/** Create turns. The next one goes to the participant whose last turn is longest ago, and then to the one that has waited longest. */
export function createTurns(): Turns {
  // By participant; the one that has waited longest comes first.
  const waiting = new Map<string, (turn: Turn) => void>();
  // The participants that have had a turn; the one whose last turn is longest ago comes first.
  const served = new Set<string>();
  let isTaken = false;

  const nextParticipant = (): string | undefined => {
    for (const participant of waiting.keys()) if (!served.has(participant)) return participant;
    for (const participant of served) if (waiting.has(participant)) return participant;
    return undefined;
  };

  const createTurn = (participant: string): Turn => {
    let isReleased = false;
    served.delete(participant);
    served.add(participant);
    return {
      release: () => {
        if (isReleased) return;
        isReleased = true;
        const next = nextParticipant();
        isTaken = next !== undefined;
        if (next === undefined) return;
        const grant = waiting.get(next)!;
        waiting.delete(next);
        grant(createTurn(next));
      },
    };
  };

  return {
    acquire: async (participant) => {
      if (!isTaken) {
        isTaken = true;
        return createTurn(participant);
      }
      if (waiting.has(participant)) return undefined;
      return new Promise((resolve) => {
        const timer = setTimeout(() => {
          waiting.delete(participant);
          resolve(undefined);
        }, MAX_WAIT_MS);
        waiting.set(participant, (turn) => {
          clearTimeout(timer);
          resolve(turn);
        });
      });
    },
  };
}

/** Longest time between two reads, ms. */
const MAX_IDLE_MS = 5000;
/** Longest time to read a whole body, ms. */
const MAX_READ_MS = 60_000;
const LAST_WAIT_MS = 1000;
/** A multiple of three bytes, so that the concatenated base64 of the chunks is the base64 of the whole body. */
const CHUNK_BYTES = 3 * 2 ** 16;

/** Calls `onTimeout` if a reader is too slow. */
function createReadTimer(onTimeout: () => void) {
  let startedAt = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Wait for the next read, after `share` of the body has been read. */
  const expectRead = (share: number): void => {
    clearTimeout(timer);
    const behindMs = Math.max(0, performance.now() - startedAt - share * MAX_READ_MS);
    // Two timers, because after a pause of the whole process, pending reads are handled between them.
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
}

const TOO_SLOW = `long response: the reader was too slow: expected reads at most ${MAX_IDLE_MS / 1000} s apart, and ${MAX_READ_MS / 1000} s in all`;

/** A body to be generated and read. */
export interface LongBody {
  /** The turn of this body, which releases it. */
  readonly turn: Turn;
  /** Generates the whole body; called once. */
  readonly write: () => Promise<Uint8Array<ArrayBuffer>>;
  /** True to send the bytes, false to send their base64. */
  readonly binary: boolean;
  /**
   * Called if the body cannot be completed. Returns true if it has closed the connection. Otherwise, the stream fails, which each
   * host reports in its own way.
   */
  readonly onFailure: (error: unknown) => boolean;
}

/** Create a body that is generated when it is first read. */
export function longBody({ turn, write, binary, onFailure }: LongBody): ReadableStream<Uint8Array> {
  const encode = binary ? (chunk: Uint8Array) => chunk : encodeB64Ascii;
  let content: Uint8Array<ArrayBuffer> | undefined;
  let offset = 0;
  let isEnded = false;
  let onTimeout = (): void => {};
  const timer = createReadTimer(() => onTimeout());

  const end = (): void => {
    isEnded = true;
    content = undefined;
    timer.stop();
    turn.release();
  };
  const start = async (): Promise<Uint8Array<ArrayBuffer>> => {
    timer.stop();
    const written = await write();
    if (!isEnded) timer.start();
    return written;
  };

  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        onTimeout = () => {
          end();
          const error = new TokenError('timeout', TOO_SLOW);
          if (!onFailure(error)) controller.error(error);
        };
        // A body whose reader never requests the first chunk must not keep the turn.
        timer.start();
      },
      pull: async (controller) => {
        try {
          content ??= await start();
          // The body was cancelled while it was being generated.
          if (isEnded) return end();
          controller.enqueue(encode(content.subarray(offset, (offset += CHUNK_BYTES))));
          const share = offset / content.length;
          if (share < 1) return timer.expectRead(share);
          end();
          controller.close();
        } catch (error) {
          end();
          if (!onFailure(error)) throw error;
        }
      },
      cancel: end,
    },
    // With the default of 1, the stream would generate its body before anyone reads it.
    { highWaterMark: 0 },
  );
}
