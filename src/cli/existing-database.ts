/// <reference types="node" />
/** Checks that a database exists, for the commands that must not create one. */

import { existsSync } from 'node:fs';
import { hasDatabase } from '../database/database-folder.ts';
import { locationKind } from '../database/index.ts';
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
