/// <reference types="node" />
/**
 * Reads a file, or standard input for the name `-`, as text, piece by piece. `paths.ts` provides its name in messages.
 */

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Io } from './io.ts';
import { shownPath, unreadable } from './paths.ts';

/** Maximum number of characters of a row, or of a whole small file. */
export const MAX_CHARACTERS = 65_536;

export interface Input {
  readonly name: string;
  /** Size, bytes; undefined if unknown, as for a pipe. */
  readonly totalBytes: number | undefined;
  readonly readBytes: number;
  /**
   * The text, without a byte order mark. Can be read once.
   *
   * @throws {RangeError} if it cannot be read or is not text.
   * @throws the reason of `signal`.
   */
  readonly pieces: AsyncIterable<string>;
}

const FIRST_BYTES = 4;

/**
 * Detected from the first bytes. Spreadsheets save "Unicode text" as UTF-16 with a byte order mark. UTF-16 without one has a zero
 * byte beside each ASCII character.
 */
function decoderOf([one, two, three, four]: Uint8Array, name: string): TextDecoder {
  if (one === 0x50 && two === 0x4b && three === 3 && four === 4)
    throw new RangeError(`${name}: expected text, got a workbook or another ZIP file; save the sheet as CSV`);
  if (one === 0x1f && two === 0x8b)
    throw new RangeError(
      `${name}: expected text, got a file compressed with gzip; unpack it: zcat FILE | tessera ... -`,
    );
  if (one === 0xff && two === 0xfe) return new TextDecoder('utf-16le');
  if (one === 0xfe && two === 0xff) return new TextDecoder('utf-16be');
  if (one === 0 || two === 0)
    throw new RangeError(`${name}: expected UTF-8, or UTF-16 with a byte order mark, got a zero byte at the start`);
  return new TextDecoder();
}

/**
 * Decode the content of a small file as {@link Input.pieces} does, because Windows tools write a byte order mark, or UTF-16.
 *
 * @throws {RangeError} if it is not text.
 */
export function decodeText(bytes: Uint8Array, name: string): string {
  return decoderOf(bytes, name).decode(bytes);
}

/** Open `file`, or standard input for `-`. `signal` cancels reading, even while it waits. */
export async function openInput(file: string, io: Io, signal?: AbortSignal): Promise<Input> {
  // Reading reports a missing file.
  const stats = file === '-' ? undefined : await stat(file).catch(() => undefined);
  const name = shownPath(file);
  let readBytes = 0;
  async function* pieces(): AsyncGenerator<string, void, undefined> {
    let decoder: TextDecoder | undefined;
    let first = Buffer.alloc(0);
    try {
      for await (const piece of file === '-' ? io.stdin(signal) : createReadStream(file, { signal })) {
        const bytes = Buffer.from(piece);
        readBytes += bytes.length;
        if (decoder) {
          yield decoder.decode(bytes, { stream: true });
          continue;
        }
        first = Buffer.concat([first, bytes]);
        if (first.length < FIRST_BYTES) continue;
        decoder = decoderOf(first, name);
        yield decoder.decode(first, { stream: true });
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof RangeError) throw error;
      throw unreadable(file, error);
    }
    yield decoder ? decoder.decode() : decodeText(first, name);
  }
  return {
    name,
    totalBytes: stats?.isFile() ? stats.size : undefined,
    get readBytes() {
      return readBytes;
    },
    pieces: pieces(),
  };
}

/** Read, write and execute permission of the group and of others. */
const OTHERS = 0o077;

/** Warn if other users can read or change a file. `option` is the one that specifies the file; none for an argument. */
export async function warnIfReadableByOthers(file: string, { err }: Io, option?: string): Promise<void> {
  // On Windows, the mode says nothing about other users. `-` is standard input.
  if (process.platform === 'win32' || file === '-') return;
  const found = await stat(file).catch(() => undefined);
  // A pipe, for example of a process substitution, belongs to its writer.
  if (!found?.isFile() || (found.mode & OTHERS) === 0) return;
  const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
  const name = `${option ? `${option}: ` : ''}${shownPath(file)}`;
  err(`warning: ${name}: other users can read or change this file (mode ${mode}); run chmod 600 on it`);
}
