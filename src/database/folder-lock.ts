/**
 * Lets one process at a time open a folder: two instances of PGlite on one folder silently lose each other's rows.
 *
 * A process writes a lock file with a unique name, then reads the lock files of the others. If one of their processes is
 * running, it removes its own file again: of two processes that start at once, at least one sees the other. Lock files of ended
 * processes are removed. As names are unique, no process can remove the file of a running one by mistake.
 *
 * A process has ended if no process has its number, if the process with that number started at another time, or if the machine
 * has been rebooted since. On another machine or in another container none of this can be checked: then a process counts as
 * ended if it has not updated the time of its file for a minute.
 */

import { randomUUID } from 'node:crypto';
import { readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { TokenError } from '../token/index.ts';
import type { ProcessIdentity } from './process-identity.ts';
import { currentProcess, isRunning } from './process-identity.ts';

const NAME = /^in-use-[0-9a-f-]{36}\.json$/;
const UPDATE_INTERVAL_MS = 10_000;
/** Age, ms, at which a lock file counts as abandoned if its process cannot be checked. */
export const ABANDONED_AFTER_MS = 60_000;
const TRIES = 4;

/** The lock of a folder. */
export interface FolderLock {
  /** Tell whether this process still holds it: the file may have been removed by hand, or as abandoned. */
  isHeld(): boolean;
  /** Remove the lock file. */
  release(): Promise<void>;
}

const parseOwner = (text: string): Partial<ProcessIdentity> => {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
};

const describe = ({ pid, host }: Partial<ProcessIdentity>): string =>
  pid === process.pid && host === hostname() ? 'this process' : `process ${pid} on ${host}`;

// Find another running process that has the folder. Removes the lock files of ended processes.
const findOther = async (folder: string, own: string): Promise<string | undefined> => {
  // The clock of the file system, which may be on another machine.
  const now = (await stat(join(folder, own))).mtimeMs;
  for (const name of (await readdir(folder)).filter((found) => NAME.test(found) && found !== own)) {
    const path = join(folder, name);
    try {
      const owner = parseOwner(await readFile(path, 'utf8'));
      const ageMs = now - (await stat(path)).mtimeMs;
      if (await isRunning(owner, ageMs < ABANDONED_AFTER_MS)) return describe(owner);
      await rm(path, { force: true });
    } catch (error) {
      // ENOENT: its process has released the lock in the meantime.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return undefined;
};

/**
 * Lock a folder for this process.
 *
 * @throws {TokenError} `storage_failed` if another process holds it.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const own = `in-use-${randomUUID()}.json`;
  const path = join(folder, own);
  const text = JSON.stringify(await currentProcess());
  let other: string | undefined;
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    // Written under another name first, so that no process reads an incomplete file.
    await writeFile(`${path}.new`, text, { mode: 0o600 });
    await rename(`${path}.new`, path);
    try {
      other = await findOther(folder, own);
    } catch (error) {
      // This process runs on: its file would lock the folder for all.
      await rm(path, { force: true });
      throw error;
    }
    if (other === undefined) return holdLock(path);
    await rm(path, { force: true });
    // Two processes that started at once may both give up: a random wait separates their next attempts.
    await wait(Math.random() * 30 * attempt);
  }
  throw new TokenError(
    'storage_failed',
    `database: the folder ${folder} is in use by ${other}; for several processes use PostgreSQL: postgres://user:password@host:port/name`,
  );
}

const holdLock = (path: string): FolderLock => {
  let isHeld = true;
  const updating = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') isHeld = false;
    });
  }, UPDATE_INTERVAL_MS);
  updating.unref();
  return {
    isHeld: () => isHeld,
    release: async () => {
      isHeld = false;
      clearInterval(updating);
      await rm(path, { force: true });
    },
  };
};
