/// <reference types="node" />
/** Reads a file, or standard input for the name `-`, as text, piece by piece. */

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Io } from '../io.ts';
import { warn } from '../output/style.ts';
import { shownPath, unreadable } from './paths.ts';

/** Maximum number of characters of a row, or of a whole small file. */
export const MAX_CHARACTERS = 65_536;

export interface Input {
  readonly name: string;
  /** Size, bytes; undefined if unknown, as for a pipe. */
  readonly totalBytes: number | undefined;
  readonly readBytes: number;
  /** Without a byte order mark, to be read once. @throws {RangeError} if it is no text or unreadable; the reason of `signal`. */
  readonly pieces: AsyncIterable<string>;
}

const FIRST_BYTES = 7;

const unpack = (program: string, command: string): string =>
  `a file compressed with ${program}; unpack it: ${command} FILE | tessera ... -`;

/** Files that are not text: their first bytes in hexadecimal, and what to do. */
const NOT_TEXT: readonly (readonly [RegExp, string])[] = [
  [/^504b0304/, 'a workbook or another ZIP file; save the sheet as CSV'],
  [/^1f8b/, unpack('gzip', 'zcat')],
  [/^28b52ffd/, unpack('zstd', 'zstdcat')],
  [/^fd377a585a00/, unpack('xz', 'xzcat')],
  [/^425a683[1-9]314159/, unpack('bzip2', 'bzcat')],
  [/^5041523115/, 'a Parquet file; export it as CSV'],
];

/**
 * Detected from the first bytes. Spreadsheets save "Unicode text" as UTF-16 with a byte order mark; without one, it has a zero
 * byte beside each ASCII character. `isExact`: the decoder throws a TypeError for bytes that are not UTF-8.
 */
function decoderOf(first: Uint8Array, name: string, isExact = false): TextDecoder {
  const start = Buffer.from(first.subarray(0, FIRST_BYTES)).toString('hex');
  for (const [pattern, got] of NOT_TEXT)
    if (pattern.test(start)) throw new RangeError(`${name}: expected text, got ${got}`);
  if (start.startsWith('fffe')) return new TextDecoder('utf-16le');
  if (start.startsWith('feff')) return new TextDecoder('utf-16be');
  if (first[0] === 0 || first[1] === 0)
    throw new RangeError(`${name}: expected UTF-8, or UTF-16 with a byte order mark, got a zero byte at the start`);
  return new TextDecoder('utf-8', { fatal: isExact });
}

/** The number of line breaks before the first byte of a piece that is not UTF-8. */
function linesBeforeFault(piece: Uint8Array): number {
  // The piece may begin within a character.
  const start = piece.findIndex((byte) => (byte & 0xc0) !== 0x80);
  const bytes = piece.subarray(Math.max(0, start));
  const replaced = Buffer.from(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
  const at = bytes.findIndex((byte, index) => byte !== replaced[index]);
  return bytes.subarray(0, Math.max(0, at)).filter((byte) => byte === 0x0a).length;
}

/** Decodes an input piece by piece, and counts its lines if bytes that are not UTF-8 must be refused. */
function createDecoder(name: string, isExact: boolean) {
  let first = new Uint8Array();
  let decoder: TextDecoder | undefined;
  let line = 1;
  return (bytes: Uint8Array, stream: boolean): string => {
    let piece = bytes;
    if (!decoder) {
      piece = first = Buffer.concat([first, bytes]);
      if (stream && first.length < FIRST_BYTES) return '';
      decoder = decoderOf(first, name, isExact);
    }
    try {
      const text = decoder.decode(piece, { stream });
      if (isExact) line += text.split('\n').length - 1;
      return text;
    } catch {
      throw new RangeError(
        `${name}: line ${line + linesBeforeFault(piece)}: expected UTF-8, got other bytes; convert the file, for example: iconv -f WINDOWS-1252 -t UTF-8 FILE`,
      );
    }
  };
}

/** As {@link Input.pieces}: Windows tools write a byte order mark, or UTF-16. @throws {RangeError} if it is not text. */
export function decodeText(bytes: Uint8Array, name: string): string {
  return decoderOf(bytes, name).decode(bytes);
}

/** `signal` cancels reading, even while it waits. `isExact` refuses bytes that are not text; otherwise they become U+FFFD. */
export async function openInput(file: string, io: Io, signal?: AbortSignal, isExact = false): Promise<Input> {
  // Reading reports a missing file.
  const stats = file === '-' ? undefined : await stat(file).catch(() => undefined);
  const name = shownPath(file);
  let readBytes = 0;
  async function* pieces(): AsyncGenerator<string, void, undefined> {
    const decode = createDecoder(name, isExact);
    try {
      for await (const piece of file === '-' ? io.stdin(signal) : createReadStream(file, { signal })) {
        const bytes = Buffer.from(piece);
        readBytes += bytes.length;
        yield decode(bytes, true);
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof RangeError) throw error;
      throw unreadable(file, error);
    }
    yield decode(new Uint8Array(), false);
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

/** Warn if a file or folder at `path` has one of the permissions `others` of the group and of others. */
export async function warnAboutMode(
  path: string,
  kind: 'isFile' | 'isDirectory',
  others: number,
  warning: { readonly option?: string | undefined; readonly can: string; readonly remedy: string },
  io: Io,
): Promise<void> {
  // On Windows, the mode says nothing about other users. `-` is standard input.
  if (process.platform === 'win32' || path === '-') return;
  const found = await stat(path).catch(() => undefined);
  // A pipe, for example of a process substitution, belongs to its writer.
  if (!found?.[kind]() || (found.mode & others) === 0) return;
  const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
  const { option, can, remedy } = warning;
  warn(
    `${option ? `${option}: ` : ''}${shownPath(path)}: other users can ${can} (mode ${mode}); run ${remedy} on it`,
    io,
  );
}

/** `option` is the one that specifies the file; none for an argument. */
export function warnIfReadableByOthers(file: string, io: Io, option?: string): Promise<void> {
  return warnAboutMode(file, 'isFile', 0o077, { option, can: 'read or change this file', remedy: 'chmod 600' }, io);
}
