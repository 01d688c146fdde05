/**
 * Opens a database with the engine for its location: `pglite.ts` for a folder, `postgres.ts` for a URL. An engine is loaded
 * when it is first needed.
 */

import { locationKind } from './location.ts';
import type { Database, DatabaseOptions } from './types.ts';

/**
 * Open a database.
 *
 * @param location  a folder, created if missing, which only this process may open; or
 *   `postgres://user:password@host:port/name`, which any number of processes may open.
 * @throws {RangeError} if the location is neither.
 * @throws {TokenError} `storage_failed` if the package is not installed, the folder is in use, or the server does not answer.
 * @example
 * const database = await openDatabase('./data');
 */
export async function openDatabase(location: string, options: DatabaseOptions = {}): Promise<Database> {
  if (locationKind(location) === 'folder') return (await import('./pglite.ts')).openPGlite(location);
  return (await import('./postgres.ts')).openPostgres(location, options);
}
