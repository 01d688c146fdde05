/** Opens a database with the engine for its location, which is loaded when it is first needed. */

import { locationKind } from './location.ts';
import type { Database, DatabaseOptions } from './types.ts';

/**
 * Open a database.
 *
 * @param location  a folder, created if missing, for this process alone, or `postgres://user:password@host:port/name`.
 * @throws {RangeError} if the location is neither.
 * @throws {TokenError} `storage_failed` if the package is not installed, the folder is in use, or the server does not answer.
 */
export async function openDatabase(location: string, options: DatabaseOptions = {}): Promise<Database> {
  if (locationKind(location) === 'folder') return (await import('./pglite/pglite.ts')).openPGlite(location);
  return (await import('./postgres/postgres.ts')).openPostgres(location, options);
}
