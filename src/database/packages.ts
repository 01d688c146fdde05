/** Loads the engines' packages on first use: optional dependencies, whose versions a package manager does not always check. */

import { readFile } from 'node:fs/promises';

import { expectedGot, TokenError } from '../token/errors.ts';

export type PGlitePackage = Awaited<ReturnType<typeof loadPGlite>>;
export type PgPackage = Awaited<ReturnType<typeof loadPg>>;

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

/**
 * The versions of PGlite that the tests have run with, as in `peerDependencies`. Earlier ones end the process, or cannot open a folder
 * that is private; a later series may have another file format.
 */
export const PGLITE_RANGE = '~0.5.15';
const SERIES = '0.5.';
const FIRST_PATCH = 15;

/** Undefined for a version that can be used, or an unknown one, because a bundler has included PGlite. */
export function pgliteFault(version: string | undefined): string | undefined {
  if (version === undefined) return undefined;
  const isTested = version.startsWith(SERIES) && Number.parseInt(version.slice(SERIES.length), 10) >= FIRST_PATCH;
  return isTested ? undefined : expectedGot('@electric-sql/pglite', `version ${PGLITE_RANGE}`, version);
}

/** @param name  of PGlite's package. A parameter, because webpack fails on a constant that it cannot resolve. */
async function installedPGlite(name: string): Promise<string | undefined> {
  try {
    // Its `exports` do not list `package.json`.
    const manifest = new URL('../package.json', import.meta.resolve(name));
    const { version } = JSON.parse(await readFile(manifest, 'utf8'));
    return typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
}

/** @throws {TokenError} `storage_failed` if it is not installed, or in a version that cannot be used. */
export async function loadPGlite() {
  const fault = pgliteFault(await installedPGlite('@electric-sql/pglite'));
  if (fault !== undefined)
    throw new TokenError('storage_failed', `database: ${fault}: npm install @electric-sql/pglite@${PGLITE_RANGE}`);
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
