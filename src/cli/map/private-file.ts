/// <reference types="node" />
/**
 * A file that only its owner may read, for addresses, numbers and hashes.
 */

import { type FileHandle, lstat, open, rm, stat } from 'node:fs/promises';
import { shownPath, unwritable } from '../paths.ts';

const BUFFER_LENGTH = 65_536;

/** An open file. */
export interface PrivateFile {
  write(text: string): Promise<void>;
  /** Write the rest and close; delete the file if `keep` is false. */
  close(keep?: boolean): Promise<void>;
}

const isSame = async (one: string, other: string): Promise<boolean> => {
  const [a, b] = await Promise.all([one, other].map((path) => stat(path).catch(() => undefined)));
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
};

/**
 * Create a file of mode 0600. Replaces a file of that name; writes to a device such as `/dev/null` as it is.
 *
 * @param flag    the option that names the file, for messages.
 * @param source  the path of the input, which must not be overwritten.
 * @throws {RangeError} if it cannot be created.
 */
export async function createPrivateFile(flag: string, path: string, source?: string): Promise<PrivateFile> {
  let handle: FileHandle;
  try {
    if (source !== undefined && (await isSame(path, source)))
      throw new RangeError(`${flag}: could not write ${shownPath(path)}: it is the input file`);
    const found = await lstat(path).catch(() => undefined);
    // The mode applies to new files only, and another process may have the old file open.
    if (found?.isFile()) await rm(path);
    const isDevice = found?.isCharacterDevice() || found?.isFIFO();
    handle = await open(path, isDevice ? 'w' : 'wx', 0o600);
  } catch (error) {
    throw error instanceof RangeError ? error : unwritable(path, error, flag);
  }
  let buffer = '';
  let written = Promise.resolve();
  // Callers need not await each other: writes are queued.
  const flush = (): Promise<void> => {
    const text = buffer;
    buffer = '';
    written = written.then(() => handle.writeFile(text));
    return written;
  };
  return {
    write: async (text) => {
      buffer += text;
      if (buffer.length >= BUFFER_LENGTH) await flush();
    },
    close: async (keep = true) => {
      try {
        await flush();
        // Another file may have this name by now.
        const [ours, current] = await Promise.all([handle.stat(), lstat(path).catch(() => undefined)]);
        if (!keep && ours.isFile() && ours.ino === current?.ino) await rm(path);
      } finally {
        await handle.close();
      }
    },
  };
}
