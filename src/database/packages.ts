/** The packages of the engines, which are the user's to install: loaded when they are first asked for. */

import { TokenError } from '../token/index.ts';

const load = async <T>(what: string, name: string, loaded: () => Promise<T>): Promise<T> => {
  try {
    return await loaded();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    // It is there, and misses something of its own.
    if (!message.includes(name)) throw error;
    throw new TokenError(
      'storage_failed',
      `database: ${what} needs the package ${name}, which is not installed: npm install ${name}`,
    );
  }
};

export function loadPglite() {
  return load('a folder', '@electric-sql/pglite', async () => ({
    ...(await import('@electric-sql/pglite')),
    ...(await import('@electric-sql/pglite/nodefs')),
  }));
}

export function loadPg() {
  return load('a postgres:// URL', 'pg', async () => {
    const module = await import('pg');
    return module.default ?? module;
  });
}
