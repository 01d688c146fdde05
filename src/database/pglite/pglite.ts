/**
 * PGlite: PostgreSQL inside this process, in a folder with `pglite/`, its files, `pglite.new/`, the same while they are created,
 * and `in-use-*.sock`, the socket of the process that has the folder open (`folder-lock.ts`).
 */

import { chmod, mkdir, readFile, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { PGlite } from '@electric-sql/pglite';
import { TokenError } from '../../token/index.ts';
import { filesOf } from '../database-folder.ts';
import { storageError } from '../engine-errors.ts';
import { createOperationTracker } from '../operation-tracker.ts';
import { loadPGlite, type PGlitePackage } from '../packages.ts';
import { createQueries } from '../queries.ts';
import type { Database, Queries } from '../types.ts';
import { checkSync, durableOptions, syncFolder } from './durable-files.ts';
import { stopAfterPanic } from './engine-stop.ts';
import { type FolderLock, lockFolder } from './folder-lock.ts';

const PRIVATE_MODE = 0o700;
/** The meaning of a file-system error for the path of a folder. */
const FOLDER_FAULTS: Readonly<Record<string, string>> = {
  EEXIST: 'it is a file',
  ENOTDIR: 'a part of the path is a file',
  ENOENT: 'no folder can be created there',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left on the device',
};
/** OID of the type in PostgreSQL. PGlite parses large values as BigInt by default. */
const INT8 = 20;

const NO_SPACE = /no space left|quota exceeded/i;
/** The number of the error in WebAssembly. */
const WASI_ENOSPC = 51;
/** A new database has 40 MB. If the disk becomes full while it is being created, PGlite runs in an endless loop. */
const MIN_FREE_BYTES = 64e6;

function noSpace(files: string, found: string): TokenError {
  return new TokenError('storage_failed', `database: no space left on the device of ${files}: ${found}`);
}

async function start(pglite: PGlitePackage, files: string): Promise<PGlite> {
  // Why PostgreSQL ends while starting. The error that PGlite throws does not say it.
  let fatal: string | undefined;
  const onStderr = (line: string): boolean => {
    fatal ??= /(?:FATAL|PANIC): +(.*)/.exec(line)?.[1];
    return false;
  };
  try {
    return await pglite.PGlite.create({ ...durableOptions(pglite, files), parsers: { [INT8]: Number }, onStderr });
  } catch (error) {
    if (fatal !== undefined && NO_SPACE.test(fatal)) throw noSpace(files, fatal);
    if ((error as { readonly errno?: unknown }).errno === WASI_ENOSPC)
      throw noSpace(files, 'a file could not be written');
    const version = await readFile(join(files, 'PG_VERSION'), 'utf8').catch(() => 'unknown');
    throw new TokenError(
      'storage_failed',
      `database: cannot open the files in ${files}: expected the format of the installed PGlite, got that of PostgreSQL ${version.trim()}, or damaged files${fatal === undefined ? '' : ` (${fatal})`}`,
    );
  }
}

/** Creating a database takes seconds. An incomplete one would look damaged, so it is created under another name. */
async function create(pglite: PGlitePackage, files: string): Promise<void> {
  const temporary = `${files}.new`;
  await rm(temporary, { recursive: true, force: true });
  // Some file systems cannot report it, or report 0 blocks.
  const size = await statfs(dirname(files)).catch(() => undefined);
  const freeBytes = size && size.blocks > 0 ? size.bavail * size.bsize : MIN_FREE_BYTES;
  if (freeBytes < MIN_FREE_BYTES)
    throw noSpace(files, `a new database needs ${MIN_FREE_BYTES / 1e6} MB, got ${Math.floor(freeBytes / 1e6)} MB`);
  await mkdir(temporary, { mode: PRIVATE_MODE });
  await (await start(pglite, temporary)).close();
  await syncFolder(temporary);
  await rename(temporary, files);
}

async function openFiles(pglite: PGlitePackage, files: string): Promise<PGlite> {
  const exists = await stat(files).catch(() => undefined);
  if (exists) await chmod(files, PRIVATE_MODE);
  else await create(pglite, files);
  return start(pglite, files);
}

function folderError(error: unknown, folder: string): TokenError {
  const action = `cannot open the folder ${folder}`;
  const { code } = error as NodeJS.ErrnoException;
  const fault = FOLDER_FAULTS[code ?? ''];
  if (fault === undefined) return storageError(error, action);
  return new TokenError('storage_failed', `database: ${action}: ${fault} (${code})`);
}

async function openLocked(folder: string): Promise<{ engine: PGlite; lock: FolderLock }> {
  const pglite = await loadPGlite();
  let lock: FolderLock | undefined;
  try {
    await mkdir(folder, { recursive: true, mode: PRIVATE_MODE });
    checkSync(folder);
    lock = await lockFolder(folder);
    return { engine: await openFiles(pglite, filesOf(folder)), lock };
  } catch (error) {
    await lock?.release();
    throw folderError(error, folder);
  }
}

function queriesOn(target: Pick<PGlite, 'query' | 'exec'>): Queries {
  return createQueries({ query: (sql, params) => target.query(sql, params), script: (sql) => target.exec(sql) });
}

async function runTransaction<T>(engine: PGlite, work: (queries: Queries) => Promise<T>): Promise<T> {
  let thrownByWork: { readonly error: unknown } | undefined;
  try {
    return await engine.transaction(async (inner) => {
      try {
        return await work(queriesOn(inner));
      } catch (error) {
        thrownByWork = { error };
        throw error;
      }
    });
  } catch (error) {
    throw thrownByWork ? thrownByWork.error : storageError(error, 'a transaction failed');
  }
}

export async function openPGlite(folder: string): Promise<Database> {
  const { engine, lock } = await openLocked(folder);
  const hasStopped = stopAfterPanic(engine);
  const queries = queriesOn(engine);
  const tracker = createOperationTracker();
  const run = <T>(operation: () => Promise<T>): Promise<T> =>
    tracker.run(async () => {
      // A statement runs within one turn of the event loop: a loop of statements would block all requests, timers and signals.
      await nextTurn();
      return operation();
    });
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await tracker.close();
    try {
      if (!hasStopped()) await engine.close();
    } finally {
      await lock.release();
    }
  };
  return {
    kind: 'pglite',
    query: (sql, params) => run(() => queries.query(sql, params)),
    script: (sql) => run(() => queries.script(sql)),
    transaction: (work) => run(() => runTransaction(engine, work)),
    close: () => (closing ??= close()),
  };
}
