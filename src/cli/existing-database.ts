/// <reference types="node" />
/** Checks whether a database exists, for the commands that must not create one, and for those that need several seconds to create one. */

import { existsSync } from 'node:fs';
import { hasDatabase } from '../database/database-folder.ts';
import { locationKind } from '../database/index.ts';
import type { Io } from './io.ts';
import { shownPath } from './paths.ts';

/**
 * Check that a folder contains a database, because opening the folder would create one. A database by URL is checked when it is
 * opened.
 *
 * @param remedy  how the user can create one.
 * @throws {RangeError} if it does not.
 */
export async function checkExisting(location: string, remedy: string): Promise<void> {
  if (locationKind(location) !== 'folder' || (await hasDatabase(location))) return;
  const reason = existsSync(location) ? 'it contains no database' : 'no such folder';
  throw new RangeError(`--database: could not read ${shownPath(location)}: ${reason}; ${remedy}, or specify another`);
}

/** On a terminal, say that a folder contains no database yet: PGlite needs several seconds to create one. */
export async function announceNewDatabase(location: string, { terminal, err }: Io): Promise<void> {
  if (!terminal || locationKind(location) !== 'folder' || (await hasDatabase(location))) return;
  err(`no database in the folder ${shownPath(location)} yet: creating one takes several seconds`);
}
