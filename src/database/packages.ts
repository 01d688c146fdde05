/**
 * Loads the packages of the engines when they are first needed. They are optional dependencies, which the user installs.
 */

import { TokenError } from '../token/index.ts';

const load = async <T>(location: string, name: string, importPackage: () => Promise<T>): Promise<T> => {
  try {
    return await importPackage();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    // The package itself is installed; one of its dependencies is missing.
    if (!message.includes(name)) throw error;
    throw new TokenError(
      'storage_failed',
      `database: ${location} needs the package ${name}, which is not installed: npm install ${name}`,
    );
  }
};

/** PGlite, with its file system for Node. */
export type PGlitePackage = Awaited<ReturnType<typeof loadPGlite>>;
/** The package `pg`. */
export type PgPackage = Awaited<ReturnType<typeof loadPg>>;

/** Load PGlite with its file system for Node. */
export function loadPGlite() {
  return load('a folder', '@electric-sql/pglite', async () => ({
    ...(await import('@electric-sql/pglite')),
    ...(await import('@electric-sql/pglite/nodefs')),
  }));
}

/** Load `pg`. It is a CommonJS module: its exports may arrive as `default`. */
export function loadPg() {
  return load('a postgres:// URL', 'pg', async () => {
    const module = await import('pg');
    return module.default ?? module;
  });
}
