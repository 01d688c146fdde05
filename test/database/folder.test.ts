import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { cp, mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { ABANDONED_AFTER_MS, lockFolder } from '../../src/database/folder-lock.ts';
import { currentProcess } from '../../src/database/process-identity.ts';
import { emptyFolder, freshLocation } from './locations.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const WRITER = join(root, 'test/database/writer.ts');
/** Vitest's own limit of a second is too short for a busy disk. */
const WAIT = { timeout: 30_000 };

const children: ChildProcess[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const child of children.splice(0))
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
});

/** A process that writes into a folder, with its output. */
const writer = (folder: string) => {
  const child = spawn(process.execPath, ['--import', 'tsx', WRITER, folder], { stdio: ['ignore', 'pipe', 'pipe'] });
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
    expect(second.err).toContain(`the folder ${folder} is in use by process ${process.pid} on `);
    expect(second.err).toContain('; stop that process first, or use PostgreSQL: postgres://');
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await expect(openDatabase(folder)).rejects.toThrow('is in use by this process');
    await database.close();
    expect(await lockFiles(folder)).toEqual([]);
    await (await openDatabase(folder)).close();
  });

  test('a process killed while writing loses no acknowledged row', async () => {
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

  test('if many try at once, at most one gets the folder, and eventually one does', async () => {
    const folder = await emptyFolder();
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => lockFolder(folder)));
    const locks = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(locks.length).toBeLessThanOrEqual(1);
    const one = locks[0] ?? (await lockFolder(folder));
    await expect(lockFolder(folder)).rejects.toThrow('in use by this process');
    await one.release();
    await (await lockFolder(folder)).release();
  });
});

describe('the lock file of another process', () => {
  const left = async (changes: object | string, untouchedMs = 0): Promise<{ folder: string; path: string }> => {
    const folder = await emptyFolder();
    const path = join(folder, `in-use-${crypto.randomUUID()}.json`);
    await writeFile(
      path,
      typeof changes === 'string' ? changes : JSON.stringify({ ...(await currentProcess()), ...changes }),
    );
    const then = new Date(Date.now() - untouchedMs);
    await utimes(path, then, then);
    return { folder, path };
  };
  // The PID of a process that has just ended.
  const gone = async (): Promise<number> => {
    const child = spawn('true');
    await once(child, 'exit');
    return child.pid!;
  };
  const YOUNG = ABANDONED_AFTER_MS / 2;
  const OLD = ABANDONED_AFTER_MS + 10_000;
  const SHORT_WATCH_MS = 200;

  test.each<[what: string, changes: () => Promise<object | string> | object | string, untouchedMs: number]>([
    ['a process that is gone', async () => ({ pid: await gone() }), 0],
    ['a process whose number another one has now', () => ({ startedAt: '1' }), 0],
    ['a process of before the machine was started anew, silent', () => ({ boot: 'another' }), 0],
    ['another machine, silent', () => ({ host: 'elsewhere' }), OLD],
    ['another container, silent', () => ({ pidSpace: 'pid:[1]' }), OLD],
    ['nobody knows whom, silent', () => 'not JSON', OLD],
    ['a process that cannot be told from a later one with its number, silent', () => ({ startedAt: null }), OLD],
  ])('%s, is taken over', async (_, changes, untouchedMs) => {
    const { folder, path } = await left(await changes(), untouchedMs);
    const lock = await lockFolder(folder, SHORT_WATCH_MS);
    await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await lockFiles(folder)).toHaveLength(1);
    await lock.release();
    expect(await readdir(folder)).toEqual([]);
  });

  test.each<[what: string, changes: object | string, untouchedMs: number, said: string]>([
    ['a process that runs, however silent', {}, OLD, 'in use by this process'],
    ['another machine', { host: 'elsewhere', pid: 5 }, YOUNG, 'in use by process 5 on elsewhere'],
    ['another container', { pidSpace: 'pid:[1]', pid: 5 }, YOUNG, 'in use by process 5 on '],
    ['anything, with escapes', { host: '\u001b[2J', pid: 'a\n' }, YOUNG, 'process a\\u000a on \\u001b[2J (in-use-'],
    ['nobody knows whom', 'not JSON', YOUNG, 'in use by an unknown process (in-use-'],
    [
      'a process that cannot be told from a later one with its number',
      { startedAt: null },
      YOUNG,
      'in use by this process',
    ],
  ])('%s, stays in force', async (_, changes, untouchedMs, said) => {
    const { folder, path } = await left(changes, untouchedMs);
    await expect(lockFolder(folder)).rejects.toThrow(said);
    expect(await lockFiles(folder)).toEqual([path.slice(folder.length + 1)]);
  });
});

test('a running process of another user, which may not be sent a signal, keeps its folder', async () => {
  const folder = await emptyFolder();
  await writeFile(join(folder, `in-use-${crypto.randomUUID()}.json`), JSON.stringify(await currentProcess()));
  const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
  });
  await expect(lockFolder(folder)).rejects.toThrow('in use by this process');
  kill.mockRestore();
  expect(await lockFiles(folder)).toHaveLength(1);
});

describe('a process that cannot be checked keeps its folder if it updates its file while it is watched', () => {
  test.each([
    ['on another machine, after this clock was set forward', { host: 'elsewhere', pid: 5 }],
    ['on another machine with the same name', { boot: 'another', pid: 5 }],
  ])('%s', async (_, changes) => {
    const folder = await emptyFolder();
    const path = join(folder, `in-use-${crypto.randomUUID()}.json`);
    await writeFile(path, JSON.stringify({ ...(await currentProcess()), ...changes }));
    const update = (agoMs: number) => utimes(path, new Date(), new Date(Date.now() - agoMs));
    await update(10 * ABANDONED_AFTER_MS);
    let updates = 0;
    const updating = setInterval(() => void update(10 * ABANDONED_AFTER_MS - ++updates), 20);
    await expect(lockFolder(folder, 2000)).rejects.toThrow('in use by process 5 on ');
    clearInterval(updating);
    expect(await lockFiles(folder)).toHaveLength(1);
  });
});

test.each<[what: string, create: (path: string) => Promise<unknown>]>([
  ['a folder', (path) => mkdir(path)],
  ['a pipe', (path) => once(spawn('mkfifo', [path]), 'exit')],
  ['a link', (path) => symlink('/dev/zero', path)],
])('%s in place of a lock file is refused, and does not leave the folder locked', async (_, create) => {
  const folder = await emptyFolder();
  const name = `in-use-${crypto.randomUUID()}.json`;
  await create(join(folder, name));
  await expect(lockFolder(folder)).rejects.toMatchObject({
    code: 'storage_failed',
    message: expect.stringContaining(`${name}: expected a regular file, got another entry; remove it`),
  });
  expect(await readdir(folder)).toEqual([name]);
});

test('the owner updates its lock file, and notices when the file is removed', async () => {
  const folder = await emptyFolder();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const lock = await lockFolder(folder);
  const path = join(folder, (await lockFiles(folder))[0]!);
  await utimes(path, 1, 1);
  vi.advanceTimersByTime(ABANDONED_AFTER_MS / 2);
  await vi.waitFor(async () => expect((await stat(path)).mtimeMs).toBeGreaterThan(1000), WAIT);
  expect(lock.isHeld()).toBe(true);
  fs.rmSync(path);
  vi.advanceTimersByTime(ABANDONED_AFTER_MS / 2);
  await vi.waitFor(() => expect(lock.isHeld()).toBe(false), WAIT);
  await lock.release();
});

test('the time of a lock file is that of the file system, even if the clock of its process is behind', async () => {
  const folder = await emptyFolder();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'], now: Date.now() - 60 * ABANDONED_AFTER_MS });
  const lock = await lockFolder(folder);
  const path = join(folder, (await lockFiles(folder))[0]!);
  await utimes(path, 1, 1);
  vi.advanceTimersByTime(ABANDONED_AFTER_MS / 2);
  await vi.waitFor(async () => expect((await stat(path)).mtimeMs).toBeGreaterThan(1000), WAIT);
  const other = join(folder, 'other');
  await writeFile(other, '');
  expect((await stat(other)).mtimeMs - (await stat(path)).mtimeMs).toBeLessThan(ABANDONED_AFTER_MS / 2);
  await lock.release();
});

test('a process that has lost its folder writes nothing there when it closes', async () => {
  const folder = await freshLocation('pglite');
  const first = await openDatabase(folder);
  await first.script('CREATE TABLE t (id integer)');
  // Somebody removes the lock file, and another process opens the folder.
  for (const name of await lockFiles(folder)) fs.rmSync(join(folder, name));
  const second = await openDatabase(folder);
  for (let id = 1; id <= 5; id++) await second.query('INSERT INTO t VALUES ($1)', [id]);
  await first.close();
  expect(await lockFiles(folder)).toHaveLength(1);
  // What a third one finds if the second is killed now.
  const copy = await emptyFolder();
  await cp(join(folder, 'pglite'), join(copy, 'pglite'), { recursive: true });
  const third = await openDatabase(copy);
  expect(await third.query('SELECT count(*) AS n FROM t')).toEqual([{ n: 5 }]);
  await third.close();
  await second.close();
});

describe('a folder', () => {
  test('is created for its owner only, even after an incomplete creation', async () => {
    const folder = join(await emptyFolder(), 'deep', 'data');
    await mkdir(join(folder, 'pglite.new', 'base'), { recursive: true, mode: 0o700 });
    fs.chmodSync(folder, 0o755);
    await writeFile(join(folder, 'pglite.new', 'PG_VERSION'), 'half');
    const database = await openDatabase(folder);
    expect((await stat(join(folder, 'pglite'))).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, (await lockFiles(folder))[0]!))).mode & 0o777).toBe(0o600);
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

test('a lock file identifies its process and contains nothing else', async () => {
  const folder = await emptyFolder();
  const lock = await lockFolder(folder);
  const told = JSON.parse(await readFile(join(folder, (await lockFiles(folder))[0]!), 'utf8'));
  expect(Object.keys(told)).toEqual(['pid', 'startedAt', 'host', 'boot', 'pidSpace']);
  await lock.release();
});
