/** A folder whose disk has no room: PostgreSQL inside this process ends, or does not start. */

import { execFile } from 'node:child_process';
import promises, { mkdir, readdir, rm } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { lockFolder } from '../../src/database/pglite/folder-lock.ts';
import { emptyFolder, freshLocation } from './locations.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** In a process of its own: after a failure PGlite may run in an endless loop, or keep its process alive. */
const outputOf = async (script: string): Promise<string[]> => {
  const setUp = `import fs from 'node:fs';
    const { openDatabase } = await import(${JSON.stringify(`${root}src/database/database.ts`)});
    const say = ({ code, message }) => console.log(code, message);`;
  const args = ['--import', 'tsx', '--input-type=module', '-e', setUp + script];
  const options = { cwd: root, timeout: 60_000, killSignal: 'SIGKILL' } as const;
  const { stdout } = await promisify(execFile)(process.execPath, args, options);
  return stdout.trim().split('\n');
};

test('a process whose database has ended rejects every statement with the cause, keeps running and loses nothing', async () => {
  const folder = await freshLocation('pglite');
  const first = await openDatabase(folder);
  await first.script('CREATE TABLE t (id integer)');
  await first.query('INSERT INTO t VALUES (1)');
  await first.close();
  // In place of the next file of the log: creating that fails, as on a full disk.
  const obstacle = join(folder, 'pglite/pg_wal/xlogtemp.42');
  await mkdir(obstacle);
  const lines = await outputOf(`const database = await openDatabase(${JSON.stringify(folder)});
    await database.query('SELECT pg_switch_wal()::text');
    const insert = ({ query }) => query('INSERT INTO t VALUES (2)');
    await Promise.all([database.transaction(insert), database.query('SELECT 1')].map((each) => each.catch(say)));
    await database.transaction(insert).catch(say);
    await database.close();
    console.log('closed');`);
  const cause = /^storage_failed database: a statement failed: could not create file .* \(58P02\)/;
  expect(lines).toEqual([...Array(3).fill(expect.stringMatching(cause)), 'closed']);
  expect(lines[2]).toContain('; PGlite has stopped: start the process again');
  // The process ends by itself, so that whoever supervises it starts it again.
  expect(await outputOf(`await openDatabase(${JSON.stringify(folder)}).catch(say);`)).toEqual([
    expect.stringMatching(/^storage_failed database: cannot open the files in .* \(could not create file .*\)$/),
  ]);
  await rm(obstacle, { recursive: true });
  const again = await openDatabase(folder);
  expect(await again.query('SELECT id FROM t')).toEqual([{ id: 1 }]);
  await again.close();
});

test.each([
  // A folder in which this is left is opened by a test of folder.test.ts.
  ['a new folder', emptyFolder, ['pglite.new']],
  ['an existing folder', () => freshLocation('pglite'), ['pglite']],
])('%s on a full disk is reported as such, not as damaged', async (_, create, left) => {
  const folder = await create();
  // Every write of PostgreSQL fails, as on a full disk.
  const lines =
    await outputOf(`fs.writeSync = () => { throw Object.assign(new Error(), { code: 'ENOSPC', errno: -28 }); };
    await openDatabase(${JSON.stringify(folder)}).catch(say);`);
  expect(lines).toEqual([expect.stringMatching(/^storage_failed database: no space left on the device of /)]);
  expect(await readdir(folder)).toEqual(left);
  if (left[0] === 'pglite') await (await openDatabase(folder)).close();
});

/** Replaces a function of node:fs/promises until the end of the test. */
const replace = <K extends 'rename' | 'statfs'>(name: K, implementation: unknown): void => {
  const spy = vi.spyOn(promises, name).mockImplementation(implementation as never);
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
};

test('a socket that cannot be renamed is removed', async () => {
  const folder = await emptyFolder();
  const full = Object.assign(new Error(), { code: 'ENOSPC' });
  replace('rename', () => Promise.reject(full));
  await expect(lockFolder(folder)).rejects.toBe(full);
  expect(await readdir(folder)).toEqual([]);
});

test('a new folder is refused on a disk without space for it: PGlite would run in an endless loop', async () => {
  const folder = await emptyFolder();
  replace('statfs', async () => ({ blocks: 100, bavail: 40, bsize: 1_000_000 }));
  await expect(openDatabase(folder)).rejects.toThrow('a new database needs 64 MB, got 40 MB');
  expect(await readdir(folder)).toEqual([]);
});

test('a folder on NFS is refused, because another machine could open it too', async () => {
  const folder = await emptyFolder();
  replace('statfs', async () => ({ type: 0x6969 }));
  await expect(openDatabase(folder)).rejects.toThrow(`the folder ${folder} is on NFS, where another machine could`);
  expect(await readdir(folder)).toEqual([]);
});
