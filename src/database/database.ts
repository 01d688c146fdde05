/**
 * Opening a database: which engine a place asks for.
 *
 * Next: `pglite.ts` for a folder, `postgres.ts` for a URL. Neither is loaded before it is asked for.
 */

import type { Database } from './contract.ts';
import { placeOf } from './place.ts';

/** How to open. */
export interface DatabaseOptions {
  /** Most connections at the same time; PostgreSQL alone. Default: 10. */
  readonly connections?: number | undefined;
}

/**
 * Open a database.
 *
 * @param place  a folder, made where there is none, of which this process is then the only user; or
 *               `postgres://user:password@host:port/name`, for any number of processes.
 * @throws {RangeError} a place that is neither.
 * @throws {TokenError} `storage_failed`: the package is missing, the folder is in use, the server does not answer.
 * @example
 * const database = await openDatabase('./data');
 */
export async function openDatabase(place: string, { connections }: DatabaseOptions = {}): Promise<Database> {
  if (placeOf(place) === 'folder') return (await import('./pglite.ts')).openPglite(place);
  return (await import('./postgres.ts')).openPostgres(place, connections);
}
