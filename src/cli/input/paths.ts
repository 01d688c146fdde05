/**
 * Names files in messages, and explains why one could not be read or written. A path is not a secret, but a user may have typed
 * an email address or a token in its place, which is not shown.
 */

import type { Stats } from 'node:fs';
import type { ParseError } from 'jsonc-parser';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'part of the path is not a folder',
  EISDIR: 'it is a folder',
  ELOOP: 'it is a symbolic link',
  NOT_A_FILE: 'it is a pipe or a device',
  NOT_OWN: 'it belongs to another user; delete it, or name another file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left on the device',
  EFBIG: 'the file would be too large',
  ENAMETOOLONG: 'the name is too long',
  EMFILE: 'too many open files',
  EPIPE: 'nobody reads it',
};

/** An address, a phone number, or a long string without an extension that is not a path: a token, key, secret or hash. */
function isPrivate(text: string): boolean {
  return (
    text.includes('@') ||
    /^\+?[\d ()-]{7,}$/.test(text) ||
    text.length > 200 ||
    (/^[\w+/=-]{32,}$/.test(text) && !/^(?:\/|\.\.?\/)/.test(text)) ||
    /^(?:UID2|EUID)-/.test(text)
  );
}

/** The name of a file for a message. For `user@example.com`: `FILE (not shown: it looks like an address or a token)`. */
export function shownPath(path: string): string {
  if (path === '-') return 'standard input';
  // For example, from a shell variable that is not set.
  if (path === '') return '"" (an empty name)';
  return isPrivate(path) ? 'FILE (not shown: it looks like an address or a token)' : path;
}

export function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return (code !== undefined && REASONS[code]) || code || 'an unknown failure';
}

/**
 * Check a file that may contain DII, hashes or credentials: in a folder where others may write, one of them could have put a pipe
 * or a file there, to read what is written. @throws {Error} with a code that {@link reasonOf} explains.
 */
export function checkOwnFile(found: Stats): void {
  const fault = (code: string): Error => Object.assign(new Error('expected a file of this user'), { code });
  if (found.isDirectory()) throw fault('EISDIR');
  if (found.isSymbolicLink()) throw fault('ELOOP');
  if (!found.isFile()) throw fault('NOT_A_FILE');
  // Windows has no such IDs.
  if (process.geteuid && found.uid !== process.geteuid()) throw fault('NOT_OWN');
}

/** @example unreadable('people.csv', error) // could not read people.csv: no such file */
export function unreadable(path: string, error: unknown, option?: string): RangeError {
  return new RangeError(`${option ? `${option}: ` : ''}could not read ${shownPath(path)}: ${reasonOf(error)}`);
}

/** For a new file, `ENOENT` means that its folder is missing: `--export: could not write out/ids.csv: no such folder`. */
export function unwritable(path: string, error: unknown, option: string): RangeError {
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  return new RangeError(
    `${option}: could not write ${shownPath(path)}: ${isMissing ? 'no such folder' : reasonOf(error)}`,
  );
}

/** @throws {RangeError} with line and column of the fault. The message of `JSON.parse` would quote the text. */
export async function parseJson(text: string, path: string, option?: string): Promise<unknown> {
  try {
    return JSON.parse(text);
  } catch {
    const { parse } = await import('jsonc-parser');
    const faults: ParseError[] = [];
    parse(text, faults, { disallowComments: true });
    const before = text.slice(0, faults[0]?.offset ?? text.length).split('\n');
    const place = `line ${before.length}, column ${before.at(-1)!.length + 1}`;
    throw new RangeError(`${option ? `${option}: ` : ''}${shownPath(path)}: expected JSON, got other text at ${place}`);
  }
}
