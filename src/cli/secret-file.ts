/// <reference types="node" />
/** Warns, as ssh does, about a file with secrets that other users of the machine can read. */

import { stat } from 'node:fs/promises';
import type { Io } from './io.ts';
import { shownPath } from './paths.ts';

// Read, write and execute permission of the group and of others.
const OTHERS = 0o077;

/**
 * Warn if other users can read or change a file.
 *
 * @param option  the option that specifies the file; none for an argument.
 */
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
