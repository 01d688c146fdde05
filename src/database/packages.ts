/**
 * Loads the packages of the engines when they are first needed. They are optional dependencies that the user installs.
 */

import { TokenError } from '../token/index.ts';

/** PGlite, with its file system for Node. */
export type PGlitePackage = Awaited<ReturnType<typeof loadPGlite>>;
/** The package `pg`. */
export type PgPackage = Awaited<ReturnType<typeof loadPg>>;

/** Convert the error of a failed import of an engine's package. */
function importError(error: unknown, location: string, name: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return error;
  // The package itself is installed, but one of its dependencies is missing.
  if (!message.includes(name)) return error;
  return new TokenError(
    'storage_failed',
    `database: ${location} needs the package ${name}, which is not installed: npm install ${name}`,
  );
}

// esbuild and webpack fail on the import of a package that is not installed, unless the import is directly inside a `try`.

/** Load PGlite with its file system for Node. */
export async function loadPGlite() {
  try {
    return { ...(await import('@electric-sql/pglite')), ...(await import('@electric-sql/pglite/nodefs')) };
  } catch (error) {
    throw importError(error, 'a folder', '@electric-sql/pglite');
  }
}

/** Load `pg`, a CommonJS module whose exports may arrive as `default`. */
export async function loadPg() {
  try {
    const module = await import('pg');
    return module.default ?? module;
  } catch (error) {
    throw importError(error, 'a postgres:// URL', 'pg');
  }
}
