/// <reference types="node" />
/** Checks whether a database exists, for the commands that must not create one, and for those that need several seconds to create one. */

import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { filesOf, hasDatabase } from '../database/database-folder.ts';
import { locationKind } from '../database/index.ts';
import type { Io } from './io.ts';
import { shownPath } from './paths.ts';

/**
 * Throw a {@link RangeError} for a folder without a database, because opening it would create one. A database by URL is checked
 * when it is opened. `remedy`: how the user can create one.
 */
export async function checkExisting(location: string, remedy: string): Promise<void> {
  if (locationKind(location) !== 'folder' || (await hasDatabase(location))) return;
  const reason = existsSync(location) ? 'it contains no database' : 'no such folder';
  // Its name until it is complete.
  if (existsSync(`${filesOf(location)}.new`))
    throw new RangeError(
      `--database: could not read ${shownPath(location)}: another process is creating the database, or was stopped while it did; try again when it is done, or ${remedy}`,
    );
  throw new RangeError(`--database: could not read ${shownPath(location)}: ${reason}; ${remedy}, or specify another`);
}

/** Warn if other users can write to the folder of a database: they could replace its files, or keep it locked. */
export async function warnIfWritableByOthers(location: string | undefined, { err }: Io): Promise<void> {
  if (process.platform === 'win32' || location === undefined) return;
  const found = await stat(location).catch(() => undefined);
  if (!found?.isDirectory() || (found.mode & 0o022) === 0) return;
  const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
  err(
    `warning: --database: ${shownPath(location)}: other users can write to this folder (mode ${mode}); run chmod go-w on it`,
  );
}

/** Say that a folder contains no database yet: PGlite needs several seconds to create one. */
export async function announceNewDatabase(location: string, { err }: Io): Promise<void> {
  if (locationKind(location) !== 'folder' || (await hasDatabase(location))) return;
  err(`creating the database in the folder ${shownPath(location)} ...`);
}
