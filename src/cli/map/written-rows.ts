/// <reference types="node" />
/** Compares the rows that an interrupted `tessera map --out` has written with those of the input, for `--resume`. */

import { createReadStream } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { checkOwnFile, shownPath, unreadable } from '../input/paths.ts';
import type { Table, TableRow } from './answered-rows.ts';

export interface Unwritten {
  /** Length of the complete rows in the file, bytes. */
  readonly bytes: number;
  /** Number of these rows, without a header. */
  readonly count: number;
  readonly rows: AsyncIterable<readonly TableRow[]>;
}

function createReader(path: string) {
  const pieces = createReadStream(path, { encoding: 'utf8' })[Symbol.asyncIterator]();
  let text = '';
  let at = 0;
  let bytes = 0;
  let count = 0;
  /** The position of the line break of the row that begins with `start`; -1 for the end of the file. */
  const endOfRow = async (start: string): Promise<number> => {
    for (;;) {
      const end = text.indexOf('\n', at + start.length);
      if (end >= 0) return end;
      const { value, done } = await pieces.next();
      if (done) return -1;
      text = text.slice(at) + value;
      at = 0;
    }
  };
  return {
    get bytes() {
      return bytes;
    },
    /** Take the next row. Returns false at the end of the file, or at its last row if that is incomplete. */
    take: async (start: string, isEnd: (end: string) => boolean): Promise<boolean> => {
      const end = await endOfRow(start);
      if (end < 0) return false;
      count++;
      if (!text.startsWith(start, at) || !isEnd(text.slice(at + start.length, end)))
        throw new RangeError(
          `--resume: ${shownPath(path)}: row ${count}: expected the row of the input, got another: the file, --v2 or an option of the rows is not the same; run without --resume to start over`,
        );
      bytes += Buffer.byteLength(text.slice(at, end + 1));
      at = end + 1;
      return true;
    },
    close: () => pieces.return?.(),
  };
}

/** @throws {RangeError} if the file is unreadable, or does not begin with the first rows of the table, each with its answer. */
export async function unwrittenRows(path: string, { header, rows, isEnd }: Table): Promise<Unwritten> {
  try {
    checkOwnFile(await lstat(path));
  } catch (error) {
    throw unreadable(path, error, '--resume');
  }
  const all = rows[Symbol.asyncIterator]();
  const reader = createReader(path);
  let count = 0;
  const readRest = async (): Promise<readonly TableRow[] | undefined> => {
    if (header !== undefined && !(await reader.take(header.slice(0, -1), (end) => end === ''))) return [];
    for (;;) {
      const { value, done } = await all.next();
      if (done) return undefined;
      for (const [at, row] of value.entries()) {
        if (!(await reader.take(row.start, isEnd))) return value.slice(at);
        count++;
      }
    }
  };
  try {
    const rest = await readRest();
    // The input has ended: the file must have, too.
    if (!rest) await reader.take('', () => false);
    const { bytes } = reader;
    async function* others(): AsyncGenerator<readonly TableRow[], void, undefined> {
      if (!rest) return;
      yield rest;
      for (let next = await all.next(); !next.done; next = await all.next()) yield next.value;
    }
    return { bytes, count, rows: others() };
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code ? unreadable(path, error, '--resume') : error;
  } finally {
    await reader.close();
  }
}
