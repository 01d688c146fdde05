/** Writes the invalid rows of a file to a CSV file, with line and reason first. The user can correct that file and map it. */

import type { InvalidRow } from '../input/dii-rows.ts';
import { csvLine } from '../output/csv-line.ts';
import { checkPrivateFile, createPrivateFile } from './private-file.ts';

export type Rejects = Awaited<ReturnType<typeof createRejects>>;

/** `line` is undefined for a row that the service has rejected, of which only the hash is known. */
type RejectedRow = Omit<InvalidRow, 'line'> & { readonly line: number | undefined };

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

export async function createRejects(path: string, header: readonly string[] | undefined) {
  const file = await createPrivateFile('--rejects', path);
  let count = 0;
  let closed = false;
  return {
    path,
    get count() {
      return count;
    },
    add: async ({ line, reason, fields }: RejectedRow): Promise<void> => {
      // The source of a failed job may still be reading.
      if (closed) return;
      const names = header ?? fields.map((_, index) => `column ${index + 1}`);
      if (count++ === 0) await file.write(`${csvLine(['line', 'reason', ...names])}\n`);
      await file.write(`${csvLine([line, reason, ...fields])}\n`);
    },
    close: (): Promise<void> => {
      closed = true;
      return file.close(count > 0);
    },
  };
}
