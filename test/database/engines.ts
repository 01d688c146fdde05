/** Global setup of tests on both engines: one PostgreSQL server for all of them, and `pglite-folder.ts`. */

import type { TestProject } from 'vitest/node';
import makeFolder from './pglite-folder.ts';
import { startPostgres } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the server's own database: see `freshLocation`. */
    postgresUrl: string;
  }
}

export default async (project: TestProject): Promise<() => Promise<void>> => {
  const [server] = await Promise.all([startPostgres(undefined, 'off'), makeFolder(project)]);
  project.provide('postgresUrl', server.url('postgres'));
  return () => server.stop();
};
