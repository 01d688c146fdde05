/// <reference types="node" />
/** A file that only its owner may read, for email addresses, phone numbers and hashes. */

import type { Stats } from 'node:fs';
import { access, constants, copyFile, type FileHandle, lstat, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { checkOwnFile, reasonOf, shownPath, unwritable } from '../input/paths.ts';

const BUFFER_LENGTH = 65_536;

/** The name of a file while it is being written, if it is replaced at its end. */
export function partialOf(path: string): string {
  return `${path}.partial`;
}

async function isSame(one: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map((path) => stat(path).catch(() => undefined)));
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
}

/** Finds the former file, or a device. Following a symbolic link would replace a file that the user has not specified. */
async function findFormer(path: string): Promise<Stats | undefined> {
  const found = await lstat(path).catch(() => undefined);
  if (found && !found.isCharacterDevice()) checkOwnFile(found);
  return found;
}

/** Throw a {@link RangeError} if a file cannot be created in its folder, or is `source`, the input. Changes nothing. */
export async function checkPrivateFile(flag: string, path: string, source?: string): Promise<void> {
  if (source !== undefined && (await isSame(path, source)))
    throw new RangeError(`${flag}: could not write ${shownPath(path)}: it is the input file`);
  try {
    // A device may be in a folder where nobody can create files.
    if (!(await findFormer(path))) await access(dirname(path), constants.W_OK);
  } catch (error) {
    throw unwritable(path, error, flag);
  }
}

interface FileOptions {
  readonly isReplacedAtEnd?: boolean | undefined;
  readonly isContinuable?: boolean | undefined;
  readonly continuesAt?: number | undefined;
}

/** Replaces a file by a copy of its first bytes, and opens that. */
async function openCopy(path: string, bytes: number): Promise<FileHandle> {
  const copy = `${path}.${process.pid}`;
  let handle: FileHandle | undefined;
  try {
    await copyFile(path, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    handle = await open(copy, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW);
    // Another program may have copied the file, with another mode.
    await handle.chmod(0o600);
    await handle.truncate(bytes);
    await rename(copy, path);
    return handle;
  } catch (error) {
    await handle?.close();
    await rm(copy, { force: true });
    throw error;
  }
}

/** Opens a new file, one to continue, or the device of that name. `target` is the name of the file while it is being written. */
async function openNew(
  path: string,
  { isReplacedAtEnd, continuesAt }: FileOptions,
): Promise<{ handle: FileHandle; target: string }> {
  if ((await findFormer(path))?.isCharacterDevice()) {
    // Another user may have replaced it since. Opening a pipe that nobody reads would wait.
    const handle = await open(path, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    const opened = await handle.stat();
    if (opened.isCharacterDevice()) return { handle, target: path };
    await handle.close();
    throw Object.assign(new Error('expected a device'), { code: 'NOT_A_FILE' });
  }
  const target = isReplacedAtEnd ? partialOf(path) : path;
  if (continuesAt !== undefined) {
    // A run that still writes to the earlier file finds at its end that another has replaced it.
    return { handle: await openCopy(target, continuesAt), target };
  }
  // The mode applies only to new files, and another process may have the old file open.
  await rm(target, { force: true });
  return { handle: await open(target, 'wx', 0o600), target };
}

/**
 * Create a file with mode 0600. Replaces the user's file of that name, but writes to a device such as `/dev/null` directly.
 * @param isReplacedAtEnd  write to the name with `.partial` appended until the file is closed and kept, so that the file of this
 *   name is always complete. Default: false, for a file that is useful from its first row on.
 * @param isContinuable  a later run can continue the partial file: it is kept if its end cannot be written.
 * @param continuesAt  keep this many bytes of the partial file of an earlier run.
 * @throws {RangeError} if it cannot be created.
 */
export async function createPrivateFile(flag: string, path: string, options: FileOptions = {}) {
  const { isReplacedAtEnd = false, isContinuable = false } = options;
  const { handle, target } = await openNew(path, options).catch((error) => {
    throw unwritable(path, error, flag);
  });
  // Not a RangeError, because the options were correct.
  const failure = (reason: string): Error => new Error(`${flag}: could not write ${shownPath(path)}: ${reason}`);
  let buffer = '';
  let written = Promise.resolve();
  // Callers need not wait for one another, because writes are queued.
  const flush = (): Promise<void> => {
    const text = buffer;
    buffer = '';
    written = written
      .then(() => handle.writeFile(text))
      .catch((error) => {
        throw error.code ? failure(reasonOf(error)) : error;
      });
    return written;
  };
  return {
    write: async (text: string): Promise<void> => {
      buffer += text;
      if (buffer.length >= BUFFER_LENGTH) await flush();
    },
    /**
     * Write the rest and close the file; delete it if `keep` is false. With `partial`, a file that is replaced at its end keeps
     * the name {@link partialOf} it, and a later file may continue it.
     */
    close: async (keep: boolean | 'partial' = true): Promise<void> => {
      try {
        const unwritten = await (keep ? flush() : written).then(
          () => undefined,
          (error: unknown) => ({ error }),
        );
        // If the disk is full, the first rows are useful only in a file to continue, or one that is useful from its first row on.
        const isKept = keep === 'partial' || (keep && !(unwritten && isReplacedAtEnd && !isContinuable));
        // By now, another file may have this name.
        const [ours, current] = await Promise.all([handle.stat(), lstat(target).catch(() => undefined)]);
        const isOurs = ours.isFile() && ours.ino === current?.ino;
        if (!isKept && isOurs) await rm(target);
        if (!keep) return;
        if (unwritten) throw unwritten.error;
        // A file that was moved away still has its rows. A file without any name has lost them.
        const isLost = target === path ? ours.isFile() && ours.nlink === 0 : !isOurs;
        if (isLost) throw failure('another process has replaced or deleted it');
        if (target === path || keep === 'partial') return;
        // After a power failure, too, the file of this name is complete.
        await handle.sync();
        await rename(target, path);
      } finally {
        await handle.close();
      }
    },
  };
}
