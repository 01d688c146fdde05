/// <reference types="node" />
/** Checks whether a database exists: some commands must not create one, and to create one takes several seconds. */

import { existsSync } from 'node:fs';
import { filesOf, hasDatabase } from '../../database/database-folder.ts';
import { locationKind } from '../../database/index.ts';
import type { Io } from '../io.ts';
import { warnAboutMode } from './input.ts';
import { shownPath } from './paths.ts';

/** @throws {RangeError} for a folder without a database: opening would create one. One by URL is checked when it is opened. */
export async function checkExisting(location: string, remedy: string): Promise<void> {
  if (locationKind(location) !== 'folder' || (await hasDatabase(location))) return;
  const reason = existsSync(location) ? 'it contains no database' : 'no such folder';
  // A database has this name until it is complete.
  if (existsSync(`${filesOf(location)}.new`))
    throw new RangeError(
      `--database: could not read ${shownPath(location)}: another process is creating the database, or was stopped while it did; try again when it is done, or ${remedy}`,
    );
  throw new RangeError(`--database: could not read ${shownPath(location)}: ${reason}; ${remedy}, or specify another`);
}

/** Others could replace the files of the database, or keep it locked. */
export async function warnIfWritableByOthers(location: string | undefined, io: Io): Promise<void> {
  const warning = { option: '--database', can: 'write to this folder', remedy: 'chmod go-w' };
  if (location !== undefined) await warnAboutMode(location, 'isDirectory', 0o022, warning, io);
}

/** Say that a folder contains no database yet: PGlite needs several seconds to create one. */
export async function announceNewDatabase(location: string, { err }: Io): Promise<void> {
  if (locationKind(location) !== 'folder' || (await hasDatabase(location))) return;
  err(`creating the database in the folder ${shownPath(location)}, which takes up to 30 s, once ...`);
}
