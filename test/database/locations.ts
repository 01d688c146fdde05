/** Empty databases for tests. Folders are removed at the end of the test file. */

import { execFile } from 'node:child_process';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, inject } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import type { Database, DatabaseOptions } from '../../src/database/types.ts';

export const KINDS = ['pglite', 'postgres'] as const;
export type Kind = (typeof KINDS)[number];

/** For tests that are not about the engine: PostgreSQL, and both in `npm run test:nightly`. */
export const ANY_KIND: readonly Kind[] = process.env['NIGHTLY'] ? KINDS : ['postgres'];

/** In memory if there is plenty: a folder of PGlite has a thousand files, which are copied there twenty times faster. */
const shared = await statfs('/dev/shm').catch(() => undefined);
const PARENT = shared && shared.bavail * shared.bsize > 8e9 ? '/dev/shm' : tmpdir();

const folders: string[] = [];
afterAll(async () => {
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
});

export const emptyFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(PARENT, 'tessera-test-'));
  folders.push(folder);
  return folder;
};

/** Create an unused location for `openDatabase`: for tests of folders, of processes and of closing. */
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

let onePGlite: Promise<Database> | undefined;
// Registered after the removal of the folders, so it runs before.
afterAll(async () => (await onePGlite)?.close());

/** A location, or the open PGlite of this test file. */
export type Place = string | Database;

/** An empty database: a new one of the server, or the one PGlite of this test file without its tables. */
export const freshPlace = async (kind: Kind): Promise<Place> => {
  if (kind === 'postgres') return freshLocation(kind);
  onePGlite ??= freshLocation(kind).then((folder) => openDatabase(folder));
  const database = await onePGlite;
  await database.script('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  return { ...database, close: async () => {} };
};

/** Open a place. Closing what is returned leaves the PGlite of the test file open. */
export const openPlace = async (place: Place, options?: DatabaseOptions): Promise<Database> =>
  typeof place === 'string' ? openDatabase(place, options) : place;

/** All that an error shows. */
export const inspected = (error: unknown): string =>
  JSON.stringify([error, Object.getOwnPropertyNames(error), (error as Error).message, String((error as Error).cause)]);
