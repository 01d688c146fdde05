/**
 * One process per folder: two PGlite on one folder silently lose each other's rows.
 *
 * Whoever wants the folder puts down a file of its own, with a name that is never used again, and then looks at the
 * files of the others. Is one of them alive, the own file is taken away again: of two that come at once, at least one
 * sees the other. What a dead process has left is removed. Since no name is used twice, nobody can remove a live file
 * in the belief that it is the dead one.
 *
 * Dead means: the process is gone; or its number is now that of a process that started at another time; or the machine
 * has been started anew. Where none of it can be looked up (another machine, another container), it means that the file
 * has not been touched for a while: its owner touches it regularly.
 */

import { randomUUID } from 'node:crypto';
import { readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { TokenError } from '../token/index.ts';
import type { ProcessIdentity } from './process-identity.ts';
import { isRunning, whoIAm } from './process-identity.ts';

const NAME = /^in-use-[0-9a-f-]{36}\.json$/;
const TOUCH_MS = 10_000;
/** Untouched for this long, ms, a file whose owner cannot be looked up is taken for dead. */
export const UNTOUCHED_MS = 60_000;
const TRIES = 4;

/** A folder taken. */
export interface FolderLock {
  /** Whether it still is ours: the file may have been removed by hand, or in the belief that we are dead. */
  held(): boolean;
  release(): Promise<void>;
}

const ownerIn = (text: string): Partial<ProcessIdentity> => {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
};

const named = ({ pid, host }: Partial<ProcessIdentity>): string =>
  pid === process.pid && host === hostname() ? 'this process' : `process ${pid} on ${host}`;

// Who is alive in the folder besides us, in words; undefined for nobody. Removes what the dead have left.
const othersIn = async (folder: string, own: string): Promise<string | undefined> => {
  // By the clock of the file system, which may be another machine's.
  const now = (await stat(join(folder, own))).mtimeMs;
  for (const name of (await readdir(folder)).filter((found) => NAME.test(found) && found !== own)) {
    const path = join(folder, name);
    try {
      const owner = ownerIn(await readFile(path, 'utf8'));
      const untouchedMs = now - (await stat(path)).mtimeMs;
      if (await isRunning(owner, untouchedMs < UNTOUCHED_MS)) return named(owner);
      await rm(path, { force: true });
    } catch (error) {
      // Gone in the meantime: its owner is done.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return undefined;
};

/**
 * Take a folder for this process.
 *
 * @throws {TokenError} `storage_failed`: somebody else has it.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const own = `in-use-${randomUUID()}.json`;
  const path = join(folder, own);
  const text = JSON.stringify(await whoIAm());
  let other: string | undefined;
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    // Renamed into sight: nobody ever reads half of it.
    await writeFile(`${path}.new`, text, { mode: 0o600 });
    await rename(`${path}.new`, path);
    other = await othersIn(folder, own);
    if (other === undefined) return keep(path);
    await rm(path, { force: true });
    // Two that came at the same time have sent each other away: not again at the same time.
    await wait(Math.random() * 30 * attempt);
  }
  throw new TokenError(
    'storage_failed',
    `database: the folder ${folder} is in use by ${other}; for several processes use PostgreSQL: postgres://user:password@host:port/name`,
  );
}

const keep = (path: string): FolderLock => {
  let held = true;
  const touching = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') held = false;
    });
  }, TOUCH_MS);
  touching.unref();
  return {
    held: () => held,
    release: async () => {
      held = false;
      clearInterval(touching);
      await rm(path, { force: true });
    },
  };
};
