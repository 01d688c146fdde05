/**
 * Writes the invalid rows of a file to a CSV file, with line and reason before the columns of the row. The user can correct that
 * file and map it.
 */

import { csvLine } from '../csv-line.ts';
import type { InvalidRow } from './dii-rows.ts';
import { checkPrivateFile, createPrivateFile } from './private-file.ts';

export interface Rejects {
  readonly path: string;
  readonly count: number;
  /** Write one row. `line` is undefined for a row that the service has rejected, of which only the hash is known. */
  add(row: Omit<InvalidRow, 'line'> & { readonly line: number | undefined }): Promise<void>;
  /** Close the file; delete it if it is empty. */
  close(): Promise<void>;
}

/** The default path: beside the input, or in the current folder if that is standard input, a pipe or a device. */
export function defaultRejectsPath(file: string, { isRegularFile }: { readonly isRegularFile: boolean }): string {
  return isRegularFile ? `${file.replace(/\.(?:csv|tsv|txt)$/i, '')}.rejects.csv` : 'tessera.rejects.csv';
}

/** Throw a {@link RangeError} if the file cannot be created, or is the input. The file of an earlier run is not changed. */
export async function checkRejects(path: string, source: string | undefined): Promise<void> {
  if (path === '' || path === '-') {
    const got = path === '' ? 'an empty name' : 'standard output, where the summary goes';
    throw new RangeError(`--rejects: expected a file, got ${got}`);
  }
  return checkPrivateFile('--rejects', path, source);
}

/** Throws a {@link RangeError} if the file cannot be created. */
export async function createRejects(path: string, header: readonly string[] | undefined): Promise<Rejects> {
  const file = await createPrivateFile('--rejects', path);
  let count = 0;
  let closed = false;
  return {
    path,
    get count() {
      return count;
    },
    add: async ({ line, reason, fields }) => {
      // The source of a failed job may still be reading.
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
