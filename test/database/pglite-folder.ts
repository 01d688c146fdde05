/** Global setup of tests on PGlite: one folder to copy. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { openDatabase } from '../../src/database/database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A new PGlite folder. Creating one takes seconds, copying one a tenth of a second. */
    pgliteFolder: string;
  }
}

export default async ({ provide }: TestProject): Promise<() => Promise<void>> => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-pglite-'));
  await (await openDatabase(folder)).close();
  provide('pgliteFolder', folder);
  return () => rm(folder, { recursive: true, force: true });
};
