/** Empty locations for databases, one for each test, removed at the end of the test file. */

import { execFile } from 'node:child_process';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, inject } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';

export const KINDS = ['pglite', 'postgres'] as const;
export type Kind = (typeof KINDS)[number];

/** In memory if there is plenty: a folder of PGlite has a thousand files, which are copied there twenty times faster. */
const shared = await statfs('/dev/shm').catch(() => undefined);
const PARENT = shared && shared.bavail * shared.bsize > 8e9 ? '/dev/shm' : tmpdir();

const folders: string[] = [];
afterAll(async () => {
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
});

/** Create an empty folder. */
export const emptyFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(PARENT, 'tessera-test-'));
  folders.push(folder);
  return folder;
};

/** Create an unused location for `openDatabase`. */
export const freshLocation = async (kind: Kind): Promise<string> => {
  if (kind === 'pglite') {
    const folder = await emptyFolder();
    // Node's own `cp` takes three times as long.
    await promisify(execFile)('cp', ['-R', `${inject('pgliteFolder')}/.`, folder]);
    return folder;
  }
  const server = inject('postgresUrl');
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`;
  const admin = await openDatabase(server, { connections: 1 });
  await admin.script(`CREATE DATABASE ${name}`);
  await admin.close();
  return server.replace(/postgres$/, name);
};
