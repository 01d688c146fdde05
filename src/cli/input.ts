/// <reference types="node" />
/**
 * Reading what a verb was pointed to: a file, or standard input where its name is `-`. As text, piece by piece, and
 * never more in memory than was asked for.
 *
 * No message shows the name: who takes a file for a token has typed a token. Next: `rows.ts` makes rows of the text.
 */

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Io } from './io.ts';

/** Characters that a row, or the whole of a small file, may have. */
export const MOST_CHARACTERS = 65_536;

/** What a verb reads. */
export interface Input {
  /** How many bytes there are; undefined where nobody knows, as with a pipe. */
  readonly totalBytes: number | undefined;
  /** How many of them were read so far. */
  readonly readBytes: number;
  /**
   * The text, without a byte order mark. To be read once.
   *
   * @throws {RangeError} it cannot be read, or is no text.
   * @throws the reason of `signal`.
   */
  readonly pieces: AsyncIterable<string>;
}

// By its first two bytes. Spreadsheets save UTF-16 under names such as "Unicode text", always with its mark.
const decoderOf = ([one, two]: Uint8Array): TextDecoder => {
  if (one === 0x1f && two === 0x8b) throw new RangeError('FILE: expected text, got gzip: zcat FILE | tessera ... -');
  if (one === 0xff && two === 0xfe) return new TextDecoder('utf-16le');
  if (one === 0xfe && two === 0xff) return new TextDecoder('utf-16be');
  return new TextDecoder();
};

/** Open `file`, or standard input for `-`. `signal` ends the reading, also while it waits. */
export async function inputOf(file: string, io: Io, signal?: AbortSignal): Promise<Input> {
  // One that is not there is told by the reading.
  const found = file === '-' ? undefined : await stat(file).catch(() => undefined);
  let readBytes = 0;
  async function* pieces(): AsyncGenerator<string, void, undefined> {
    let decoder: TextDecoder | undefined;
    let first = Buffer.alloc(0);
    try {
      for await (const piece of file === '-' ? io.stdin(signal) : createReadStream(file, { signal })) {
        const bytes = Buffer.from(piece);
        readBytes += bytes.length;
        if (decoder) yield decoder.decode(bytes, { stream: true });
        else if ((first = Buffer.concat([first, bytes])).length > 1)
          yield (decoder = decoderOf(first)).decode(first, { stream: true });
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof RangeError) throw error;
      const { code = 'a failure' } = error as NodeJS.ErrnoException;
      throw new RangeError(`FILE: expected a readable file, got ${code}`);
    }
    yield decoder ? decoder.decode() : new TextDecoder().decode(first);
  }
  return {
    totalBytes: found?.isFile() ? found.size : undefined,
    get readBytes() {
      return readBytes;
    },
    pieces: pieces(),
  };
}

/**
 * The JSON in `file`.
 *
 * @throws {RangeError} it cannot be read, is too long, or is no JSON.
 */
export async function jsonIn(file: string, io: Io): Promise<unknown> {
  let text = '';
  for await (const piece of (await inputOf(file, io)).pieces) {
    text += piece;
    if (text.length > MOST_CHARACTERS)
      throw new RangeError(`FILE: expected a token set, got more than ${MOST_CHARACTERS} characters`);
  }
  try {
    return JSON.parse(text);
  } catch {
    // A parser quotes what it chokes on.
    throw new RangeError('FILE: expected JSON, got other text');
  }
}
