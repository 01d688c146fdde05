/** Global setup of the database tests: one PostgreSQL server for all of them, and one PGlite folder to copy. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { openDatabase } from '../../src/database/database.ts';
import { startPostgres } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the server's own database: see `freshLocation`. */
    postgresUrl: string;
    /** A new PGlite folder. Creating one takes seconds, copying one a tenth of a second. */
    pgliteFolder: string;
  }
}

export default async ({ provide }: TestProject): Promise<() => Promise<void>> => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-pglite-'));
  const made = (async () => (await openDatabase(folder)).close())();
  const [server] = await Promise.all([startPostgres(undefined, 'off'), made]);
  provide('postgresUrl', server.url('postgres'));
  provide('pgliteFolder', folder);
  return async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
};
