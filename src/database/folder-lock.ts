/**
 * Lets only one process at a time open a folder: two instances of PGlite on one folder silently lose each other's rows.
 *
 * A process writes a lock file with a unique name, then reads all other lock files. If one of their processes is running, it
 * removes its own file again: if two processes start at once, at least one of them sees the other. Lock files of ended processes
 * are removed. Because names are unique, no process can remove the file of a running one by mistake.
 *
 * A process has ended if no process has its number, or if the process with that number started at another time. On another
 * machine or in another container, neither can be checked, and neither a host name nor a machine ID proves that it is the same
 * machine. In that case, a process counts as ended if its file is a minute old and does not change while it is watched. The age
 * alone does not suffice, because a clock may have been set. After a reboot, watching the file suffices.
 */

import { randomUUID } from 'node:crypto';
import { constants, type FileHandle, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { escapeControls } from '../token/checks.ts';
import { TokenError } from '../token/index.ts';
import { currentProcess, type ProcessIdentity, type ProcessState, stateOf } from './process-identity.ts';

const NAME = /^in-use-[0-9a-f-]{36}\.json$/;
const UPDATE_INTERVAL_MS = 10_000;
/** Age, ms, at which a lock file counts as abandoned if its process cannot be checked. */
export const ABANDONED_AFTER_MS = 60_000;
/** How long a lock file is watched before it is removed, if its process cannot be checked, ms. */
const WATCH_MS = UPDATE_INTERVAL_MS + 5000;
const WATCH_STEPS = 24;
const TRIES = 4;
/** A lock file has a few hundred bytes. */
const MAX_BYTES = 4096;
const MAX_SHOWN = 100;

/** The lock of a folder. */
export interface FolderLock {
  /** Tell whether this process still holds it: the file may have been removed by hand, or as abandoned. */
  isHeld(): boolean;
  /** Check the lock file, and return the same as {@link isHeld}. */
  confirm(): Promise<boolean>;
  /** Remove the lock file. */
  release(): Promise<void>;
}

function parseOwner(text: string): Partial<ProcessIdentity> {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

function describe({ pid, host }: Partial<ProcessIdentity>, file: string): string {
  if (pid === process.pid && host === hostname()) return 'this process';
  const name = escapeControls(`process ${pid} on ${host}`.slice(0, MAX_SHOWN));
  return `${pid === undefined ? 'an unknown process' : name} (${file})`;
}

/** Opens a lock file, which another user may have replaced, if that user can write to the folder: a pipe would never end. */
async function withLockFile<T>(path: string, read: (file: FileHandle) => Promise<T>): Promise<T> {
  const refused = new TokenError(
    'storage_failed',
    `database: ${path}: expected a regular file, got another entry; remove it, and let no other user write to the folder`,
  );
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW).catch((error) => {
    throw error.code === 'ELOOP' || error.code === 'ENXIO' ? refused : error;
  });
  try {
    if (!(await file.stat()).isFile()) throw refused;
    return await read(file);
  } finally {
    await file.close();
  }
}

/** Opens the file, because a network file system then compares its cached attributes with those of the server. */
function modifiedAt(path: string): Promise<number> {
  return withLockFile(path, async (file) => (await file.stat()).mtimeMs);
}

function readText(path: string): Promise<string> {
  return withLockFile(path, async (file) => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  });
}

/** Tell whether the process of a lock file has ended. `now` is the time of the file system. */
async function hasEnded(path: string, state: ProcessState, now: number, watchMs: number): Promise<boolean> {
  if (state === 'running' || state === 'ended') return state === 'ended';
  const before = await modifiedAt(path);
  if (state === 'unknown' && now - before < ABANDONED_AFTER_MS) return false;
  for (let step = 0; step < WATCH_STEPS; step++) {
    await wait(watchMs / WATCH_STEPS);
    if ((await modifiedAt(path)) !== before) return false;
  }
  return true;
}

/** Find another running process that uses the folder. Removes the lock files of ended processes. */
async function findOther(folder: string, own: string, watchMs: number): Promise<string | undefined> {
  // The time of the file system, which may be on another machine.
  const now = await modifiedAt(join(folder, own));
  for (const name of (await readdir(folder)).filter((found) => NAME.test(found) && found !== own)) {
    const path = join(folder, name);
    try {
      const owner = parseOwner(await readText(path));
      if (!(await hasEnded(path, await stateOf(owner), now, watchMs))) return describe(owner, name);
      await rm(path, { force: true });
    } catch (error) {
      // ENOENT: its process has released the lock in the meantime.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return undefined;
}

/**
 * Lock a folder for this process.
 *
 * @param watchMs  for tests. Default: {@link WATCH_MS}.
 * @throws {TokenError} `storage_failed` if another process holds it.
 */
export async function lockFolder(folder: string, watchMs: number = WATCH_MS): Promise<FolderLock> {
  const own = `in-use-${randomUUID()}.json`;
  const path = join(folder, own);
  const text = JSON.stringify(await currentProcess());
  let other: string | undefined;
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    try {
      // Written under another name first, so that no process reads an incomplete file.
      await writeFile(`${path}.new`, text, { mode: 0o600 });
      await rename(`${path}.new`, path);
      other = await findOther(folder, own, watchMs);
    } catch (error) {
      // This process continues to run, so its file would keep the folder locked. On a full disk, that file is empty.
      await Promise.all([path, `${path}.new`].map((written) => rm(written, { force: true })));
      throw error;
    }
    if (other === undefined) return holdLock(path, text);
    await rm(path, { force: true });
    // Two processes that started at once may both give up. A random wait separates their next attempts.
    await wait(Math.random() * 30 * attempt);
  }
  throw new TokenError(
    'storage_failed',
    `database: the folder ${folder} is in use by ${other}; stop that process first, or use PostgreSQL: postgres://user:password@host:port/name`,
  );
}

/**
 * Update the time of a lock file by the clock of the file system, with which others compare it: the clock of this process may
 * differ. The content is overwritten with itself, so that nobody reads an incomplete file.
 */
async function touch(path: string, text: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.write(text, 0);
  } finally {
    await file.close();
  }
}

function holdLock(path: string, text: string): FolderLock {
  let isHeld = true;
  const noteLoss = (error: NodeJS.ErrnoException): void => {
    if (error.code === 'ENOENT') isHeld = false;
  };
  const updating = setInterval(() => void touch(path, text).catch(noteLoss), UPDATE_INTERVAL_MS);
  updating.unref();
  return {
    isHeld: () => isHeld,
    confirm: async () => {
      await stat(path).catch(noteLoss);
      return isHeld;
    },
    release: async () => {
      isHeld = false;
      clearInterval(updating);
      await rm(path, { force: true });
    },
  };
}
