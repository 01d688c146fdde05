/** A folder whose disk has no room for the log of the database: PostgreSQL inside this process ends. */

import { execFile } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { freshPlace } from './places.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('a process whose database has ended refuses every statement with the cause, runs on and loses nothing', async () => {
  const folder = await freshPlace('pglite');
  const first = await openDatabase(folder);
  await first.script('CREATE TABLE t (id integer)');
  await first.query('INSERT INTO t VALUES (1)');
  await first.close();
  // In place of the next file of the log: creating that fails, as on a full disk.
  const obstacle = join(folder, 'pglite/pg_wal/xlogtemp.42');
  await mkdir(obstacle);
  // In a process of its own, because a statement after the failure could run in an endless loop.
  const script = `const { openDatabase } = await import(${JSON.stringify(`${root}src/database/database.ts`)});
    const database = await openDatabase(${JSON.stringify(folder)});
    await database.query('SELECT pg_switch_wal()::text');
    const say = ({ code, message }) => console.log(code, message);
    const insert = ({ query }) => query('INSERT INTO t VALUES (2)');
    await Promise.all([database.transaction(insert), database.query('SELECT 1')].map((each) => each.catch(say)));
    await database.transaction(insert).catch(say);
    await database.close();
    console.log('closed');`;
  const args = ['--import', 'tsx', '--input-type=module', '-e', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: root,
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  const cause = /^storage_failed database: a statement failed: could not create file .* \(58P02\)/;
  const lines = stdout.trim().split('\n');
  expect(lines).toEqual([...Array(3).fill(expect.stringMatching(cause)), 'closed']);
  expect(lines[2]).toContain('; PGlite has stopped: start the process again');
  await rm(obstacle, { recursive: true });
  const again = await openDatabase(folder);
  expect(await again.query('SELECT id FROM t')).toEqual([{ id: 1 }]);
  await again.close();
});
