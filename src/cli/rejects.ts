/**
 * The rows of a file that could not be used: one CSV file of them, with line and reason before the columns that they
 * came with. Once they are put right, that file can be read as the first one was.
 */

import { csvLine } from './csv.ts';
import type { BadRow } from './dii-rows.ts';
import { privateFile } from './private-file.ts';

/** Where bad rows go. */
export interface Rejects {
  readonly path: string;
  readonly count: number;
  /** Write one down. A row that the service has refused has no line: it is known by its hash alone. */
  add(row: Omit<BadRow, 'line'> & { readonly line: number | undefined }): Promise<void>;
  /** An empty file is not left behind. */
  close(): Promise<void>;
}

/** Where they go unless told otherwise: beside the file. */
export function rejectsBeside(file: string): string {
  return file === '-' ? 'tessera.rejects.csv' : `${file.replace(/\.(?:csv|tsv|txt)$/i, '')}.rejects.csv`;
}

/**
 * Make the file.
 *
 * @throws {RangeError} it cannot be made.
 */
export async function createRejects(
  path: string,
  source: string | undefined,
  header: readonly string[] | undefined,
): Promise<Rejects> {
  const file = await privateFile('--rejects', path, source);
  let count = 0;
  let closed = false;
  return {
    path,
    get count() {
      return count;
    },
    add: async ({ line, reason, fields }) => {
      // A job that has failed reads on for a moment.
      if (closed) return;
      const names = header ?? fields.map((_, index) => `column ${index + 1}`);
      if (count++ === 0) await file.write(`${csvLine(['line', 'reason', ...names])}\n`);
      await file.write(`${csvLine([line, reason, ...fields])}\n`);
    },
    close: () => {
      closed = true;
      return file.close(count > 0);
    },
  };
}
