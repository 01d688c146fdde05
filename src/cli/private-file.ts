/// <reference types="node" />
/**
 * A file that only its owner may read, for what is somebody's address, number or hash.
 */

import { type FileHandle, lstat, open, rm, stat } from 'node:fs/promises';

const CHUNK = 65_536;

/** A file under way. */
export interface PrivateFile {
  write(text: string): Promise<void>;
  /** `keep` false: delete it. */
  close(keep?: boolean): Promise<void>;
}

const isSame = async (one: string, other: string): Promise<boolean> => {
  const [a, b] = await Promise.all([one, other].map((path) => stat(path).catch(() => undefined)));
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
};

/**
 * Make a file of mode 0600, in the place of one that was there. A device such as `/dev/null` is written to as it is.
 *
 * @param flag    the option that names it.
 * @param source  what is read at the same time, and must not be overwritten.
 * @throws {RangeError} it cannot be made.
 */
export async function privateFile(flag: string, path: string, source?: string): Promise<PrivateFile> {
  let handle: FileHandle;
  try {
    if (source !== undefined && (await isSame(path, source))) throw { code: 'the file that is read' };
    const found = await lstat(path).catch(() => undefined);
    // A mode counts only for what is new. What others have open stays theirs.
    if (found?.isFile()) await rm(path);
    const isDevice = found?.isCharacterDevice() || found?.isFIFO();
    handle = await open(path, isDevice ? 'w' : 'wx', 0o600);
  } catch (error) {
    throw new RangeError(`${flag}: expected a file that can be written, got ${(error as NodeJS.ErrnoException).code}`);
  }
  let waiting = '';
  let written = Promise.resolve();
  // One after the other, whoever writes meanwhile.
  const flush = (): Promise<void> => {
    const text = waiting;
    waiting = '';
    written = written.then(() => handle.writeFile(text));
    return written;
  };
  return {
    write: async (text) => {
      waiting += text;
      if (waiting.length >= CHUNK) await flush();
    },
    close: async (keep = true) => {
      try {
        await flush();
        // Another may be in its place by now.
        const [ours, there] = await Promise.all([handle.stat(), lstat(path).catch(() => undefined)]);
        if (!keep && ours.isFile() && ours.ino === there?.ino) await rm(path);
      } finally {
        await handle.close();
      }
    },
  };
}
