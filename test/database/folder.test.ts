import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { lockFolder } from '../../src/database/pglite/folder-lock.ts';
import { emptyFolder, freshLocation } from './locations.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const WRITER = join(root, 'test/database/writer.ts');

const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0))
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
});

const writer = (folder: string, container: readonly string[] = []) => {
  const [command, ...args] = [...container, process.execPath, '--import', 'tsx', WRITER, folder];
  const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  const lines: string[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    for (const { count, resolve } of waiting) if (lines.length >= count) resolve();
  });
  let err = '';
  child.stderr.on('data', (text) => {
    err += text;
  });
  return {
    lines,
    pid: child.pid!,
    said: (count: number) => new Promise<void>((resolve) => void waiting.push({ count, resolve })),
    ended: async () => {
      await once(child, 'close');
      return { code: child.exitCode, err };
    },
    kill: () => child.kill('SIGKILL'),
  };
};

const lockFiles = async (folder: string) => (await readdir(folder)).filter((name) => name.startsWith('in-use-'));

describe('one folder, one process', () => {
  test('a second process is refused and told to stop the first or to use PostgreSQL; the first continues', async () => {
    const folder = await freshLocation('pglite');
    const database = await openDatabase(folder);
    const second = await writer(folder).ended();
    expect(second.code).toBe(1);
    expect(second.err).toContain(
      `the folder ${folder} is in use by process ${process.pid} on ${hostname()}; stop that`,
    );
    expect(second.err).toContain('; stop that process first, or use PostgreSQL: postgres://');
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await expect(openDatabase(folder)).rejects.toThrow('is in use by this process');
    await database.close();
    expect(await lockFiles(folder)).toEqual([]);
    await (await openDatabase(folder)).close();
  });

  test('a process killed while writing loses no acknowledged row, and the next one starts at once', async () => {
    const folder = await freshLocation('pglite');
    let acknowledged = 0;
    for (let round = 1; round <= 2; round++) {
      const one = writer(folder);
      await one.said(200 * round);
      one.kill();
      await one.ended();
      expect(await lockFiles(folder)).toHaveLength(1);
      acknowledged = Number(one.lines.at(-1));
      expect(acknowledged).toBeGreaterThanOrEqual(199 * round);
    }
    const database = await openDatabase(folder);
    const [row] = await database.query<{ n: number; last: number }>('SELECT count(*) AS n, max(id) AS last FROM rows');
    // One more may have been written but not acknowledged.
    expect([acknowledged, acknowledged + 1]).toContain(row!.last);
    expect(row!.n).toBe(row!.last);
    await database.close();
  });

  test('of two processes that start at once after a third is killed, exactly one gets the folder', async () => {
    const folder = await freshLocation('pglite');
    const killed = writer(folder);
    await killed.said(1);
    killed.kill();
    const both = [writer(folder), writer(folder)];
    const [refused, at] = await Promise.race(both.map(async (one, index) => [await one.ended(), index] as const));
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining(`${folder} is in use by `)]);
    const other = both[1 - at]!;
    await other.said(1);
    expect(other.lines[0]).toBe('open');
  });

  test('of many that start at once, exactly one gets the folder', async () => {
    const folder = await emptyFolder();
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(folder)));
    const locks = results.filter((result) => result.status === 'fulfilled');
    expect(locks).toHaveLength(1);
    expect(await lockFiles(folder)).toHaveLength(1);
    await expect(lockFolder(folder)).rejects.toThrow('in use by this process');
    await locks[0]!.value.release();
    expect(await readdir(folder)).toEqual([]);
    await (await lockFolder(folder)).release();
  });

  test('a paused process keeps its folder', async () => {
    const folder = await freshLocation('pglite');
    const paused = writer(folder);
    await paused.said(1);
    process.kill(paused.pid, 'SIGSTOP');
    await expect(lockFolder(folder, 200)).rejects.toThrow('is in use by another process; stop that process first');
  });

  test('a process that accepts connections but cannot answer keeps its folder', async () => {
    const folder = await emptyFolder();
    const server = createServer((peer) => peer.destroy()).listen(join(folder, 'in-use-00000000.sock'));
    await once(server, 'listening');
    await expect(lockFolder(folder, 200)).rejects.toThrow('is in use by another process');
    server.close();
    await (await lockFolder(folder)).release();
    expect(await readdir(folder)).toEqual([]);
  });

  const CONTAINER = ['unshare', '--map-root-user', '--net', '--pid', '--fork', '--kill-child'];
  const hasContainers = spawnSync(CONTAINER[0]!, [...CONTAINER.slice(1), 'true']).status === 0;
  test.skipIf(!hasContainers)(
    'a container with a network of its own is refused; one that starts anew has the same process number and starts',
    async () => {
      const folder = await freshLocation('pglite');
      const [first, second] = [writer(folder, CONTAINER), writer(folder, CONTAINER)];
      const [refused, at] = await Promise.race(
        [first, second].map(async (one, index) => [await one.ended(), index] as const),
      );
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('is in use by ')]);
      const running = [second, first][at]!;
      await running.said(1);
      running.kill();
      const again = writer(folder, CONTAINER);
      await again.said(1);
      expect(again.lines[0]).toBe('open');
    },
  );
});

test.each<[what: string, name: string, isRemoved: boolean]>([
  ['a file in place of a socket', 'in-use-00000000.sock', true],
  ['the lock file of an earlier version', `in-use-${crypto.randomUUID()}.json`, false],
])('%s does not keep the folder locked', async (_, name, isRemoved) => {
  const folder = await emptyFolder();
  await writeFile(join(folder, name), JSON.stringify({ pid: process.pid, host: hostname() }));
  await (await lockFolder(folder)).release();
  expect(await readdir(folder)).toEqual(isRemoved ? [] : [name]);
});

test('a path that is too long for a socket is refused in words, unless its relative form is short enough', async () => {
  const far = join(await emptyFolder(), 'x'.repeat(110));
  const near = join(await mkdtemp(join(root, 'node_modules/.test-')), 'x'.repeat(50));
  onTestFinished(() => rm(dirname(near), { recursive: true }));
  for (const folder of [far, near]) await mkdir(folder);
  await expect(lockFolder(far)).rejects.toThrow(
    /the folder .* is \d+ bytes too long for a socket in it; use a shorter/,
  );
  expect(await readdir(far)).toEqual([]);
  await (await lockFolder(near)).release();
});

describe('a folder', () => {
  test('is created for its owner only, even after an incomplete creation', async () => {
    const folder = join(await emptyFolder(), 'deep', 'data');
    await mkdir(join(folder, 'pglite.new', 'base'), { recursive: true, mode: 0o700 });
    fs.chmodSync(folder, 0o755);
    await writeFile(join(folder, 'pglite.new', 'PG_VERSION'), 'half');
    const database = await openDatabase(folder);
    expect((await stat(join(folder, 'pglite'))).mode & 0o777).toBe(0o700);
    await database.script('CREATE TABLE t (id integer); INSERT INTO t VALUES (1)');
    await database.close();
    expect(await readdir(folder)).toEqual(['pglite']);
    const all = await readdir(join(folder, 'pglite'), { recursive: true });
    const open = all.filter((path) => fs.statSync(join(folder, 'pglite', path)).mode & 0o077);
    expect(all.length).toBeGreaterThan(100);
    expect(open).toEqual([]);
  });

  test('that others may read is closed to them when it is opened', async () => {
    const folder = await freshLocation('pglite');
    fs.chmodSync(join(folder, 'pglite'), 0o755);
    const database = await openDatabase(folder);
    expect((await stat(join(folder, 'pglite'))).mode & 0o777).toBe(0o700);
    await database.close();
  });

  test('that is a file, is below one, or contains other files is reported in words', async () => {
    const folder = await emptyFolder();
    await writeFile(join(folder, 'file'), '');
    const [file, below] = [join(folder, 'file'), join(folder, 'file', 'data')];
    for (const [path, fault] of [
      [file, 'it is a file (EEXIST)'],
      [below, 'a part of the path is a file (ENOTDIR)'],
    ])
      await expect(openDatabase(path!)).rejects.toMatchObject({
        code: 'storage_failed',
        message: `database: cannot open the folder ${path}: ${fault}`,
      });
    await mkdir(join(folder, 'pglite'));
    await writeFile(join(folder, 'pglite', 'PG_VERSION'), '12\n');
    await expect(openDatabase(folder)).rejects.toThrow('got that of PostgreSQL 12, or damaged files');
    expect(await lockFiles(folder)).toEqual([]);
  });

  test('syncs every commit before acknowledging it', async () => {
    const database = await openDatabase(await freshLocation('pglite'));
    await database.script('CREATE TABLE t (id integer)');
    const settings = "SELECT current_setting('fsync') || current_setting('synchronous_commit') AS both";
    expect(await database.query(settings)).toEqual([{ both: 'onon' }]);
    // PGlite writes its files through the same module.
    const synced = vi.spyOn(fs, 'fsyncSync');
    const { syncBuiltinESMExports } = await import('node:module');
    syncBuiltinESMExports();
    for (let id = 1; id <= 5; id++) {
      await database.query('INSERT INTO t VALUES ($1)', [id]);
      expect(synced).toHaveBeenCalledTimes(id);
    }
    await database.query('SELECT * FROM t');
    expect(synced).toHaveBeenCalledTimes(5);
    synced.mockRestore();
    syncBuiltinESMExports();
    await database.close();
  });
});

test.each([
  ['@electric-sql/pglite', './nowhere', 'a folder'],
  ['pg', 'postgres://user:secret@127.0.0.1:1/name', 'a postgres:// URL'],
])('without %s the error says what to install', async (name, place, what) => {
  // A module loader that finds every package but this one.
  const hooks = `export const resolve = (specifier, context, next) => {
    if (specifier === ${JSON.stringify(name)}) {
      throw Object.assign(new Error("Cannot find package '" + specifier + "'"), { code: 'ERR_MODULE_NOT_FOUND' });
    }
    return next(specifier, context);
  };`;
  const asUrl = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
  const register = asUrl(`import { register } from 'node:module'; register(${JSON.stringify(asUrl(hooks))});`);
  const database = new URL('../../src/database/database.ts', import.meta.url).href;
  const script = `const { openDatabase } = await import(${JSON.stringify(database)});
    await openDatabase(${JSON.stringify(place)}).catch(({ name, code, message }) => console.log([name, code, message].join(' ')));`;
  const args = ['--import', 'tsx', '--import', register, '--input-type=module', '-e', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  expect(stdout.trim()).toBe(
    `TokenError storage_failed database: ${what} needs the package ${name}, which is not installed: npm install ${name}`,
  );
});
