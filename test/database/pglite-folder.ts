/** Global setup of tests on PGlite: one folder to copy. */

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { root } from '../../build/dist.ts';
import pglite from '../../node_modules/@electric-sql/pglite/package.json' with { type: 'json' };
import { openDatabase } from '../../src/database/database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** A new PGlite folder. Creating one takes seconds, copying one a tenth of a second. */
    pgliteFolder: string;
  }
}

const CACHE = join(root, 'node_modules/.cache');

/** An empty database of the installed PGlite stays between runs: it depends on nothing else. */
export default async ({ provide }: TestProject): Promise<void> => {
  const folder = join(CACHE, `pglite-${pglite.version}`);
  provide('pgliteFolder', folder);
  if (existsSync(folder)) return;
  await mkdir(CACHE, { recursive: true });
  const created = await mkdtemp(join(CACHE, 'new-'));
  await (await openDatabase(created)).close();
  // Another run may have been faster.
  await rename(created, folder).catch(() => rm(created, { recursive: true }));
};
