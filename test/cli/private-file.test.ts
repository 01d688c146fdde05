/** Files of mode 0600. */

import { execFile } from 'node:child_process';
import { chown, mkdtemp, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkPrivateFile, createPrivateFile } from '../../src/cli/map/private-file.ts';
import { writeEnvFile } from '../../src/cli/operator/env-file.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-private-'));
});
afterAll(() => rm(folder, { recursive: true }));

const gone = (path: string) => stat(path).catch((error) => error.code);

describe('a private file', () => {
  test('keeps the order of writes that are not awaited', async () => {
    const path = join(folder, 'order.csv');
    const file = await createPrivateFile('--rejects', path);
    const lines = Array.from({ length: 5000 }, (_, i) => `${i},${'x'.repeat(60)}\n`);
    await Promise.all(lines.map((line) => file.write(line)));
    await file.close();
    expect(await readFile(path, 'utf8')).toBe(lines.join(''));
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('does not follow a link to another file', async () => {
    const path = join(folder, 'link.csv');
    const other = join(folder, 'other.txt');
    await writeFile(other, 'theirs');
    await symlink(other, path);
    await expect(createPrivateFile('--rejects', path)).rejects.toThrow(
      `--rejects: could not write ${path}: it is a symbolic link`,
    );
    expect(await readFile(other, 'utf8')).toBe('theirs');
    await expect(createPrivateFile('--rejects', folder)).rejects.toThrow(
      `--rejects: could not write ${folder}: it is a folder`,
    );
  });

  test.skipIf(process.platform !== 'linux')('is named in the error about a full disk', async () => {
    const file = await createPrivateFile('--rejects', '/dev/full');
    const written = file.write('x'.repeat(70_000));
    await expect(written).rejects.toThrow('--rejects: could not write /dev/full: no space left on the device');
    await expect(file.close()).rejects.toThrow('--rejects: could not write /dev/full: no space left on the device');
  });

  test('that another process has replaced is an error at its end, as its rows are lost', async () => {
    const path = join(folder, 'shared.csv');
    const first = await createPrivateFile('--rejects', path);
    await first.write('of the first');
    const second = await createPrivateFile('--rejects', path);
    await second.write('of the second');
    await expect(first.close()).rejects.toThrow(
      `--rejects: could not write ${path}: another process has replaced or deleted it`,
    );
    await second.close();
    expect(await readFile(path, 'utf8')).toBe('of the second');
  });

  test('that was moved away is none', async () => {
    const [path, moved] = [join(folder, 'here.csv'), join(folder, 'there.csv')];
    const file = await createPrivateFile('--rejects', path);
    await rename(path, moved);
    await file.write('kept');
    await file.close();
    expect(await readFile(moved, 'utf8')).toBe('kept');
  });

  test('that is replaced at its end leaves the former one until it is kept', async () => {
    const path = join(folder, 'export.csv');
    await writeFile(path, 'former', { mode: 0o644 });
    const given = { isReplacedAtEnd: true };
    const dropped = await createPrivateFile('--export', path, given);
    await dropped.write('half');
    await dropped.close(false);
    expect(await readFile(path, 'utf8')).toBe('former');
    expect(await gone(`${path}.partial`)).toBe('ENOENT');

    // What a killed run has left is replaced.
    await writeFile(`${path}.partial`, 'left behind');
    const file = await createPrivateFile('--export', path, given);
    await file.write('whole');
    expect(await readFile(path, 'utf8')).toBe('former');
    await file.close();
    expect(await readFile(path, 'utf8')).toBe('whole');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await gone(`${path}.partial`)).toBe('ENOENT');
  });

  test('that is replaced at its end refuses to take the name if another process writes the same one', async () => {
    const path = join(folder, 'both.csv');
    const first = await createPrivateFile('--export', path, { isReplacedAtEnd: true });
    const second = await createPrivateFile('--export', path, { isReplacedAtEnd: true });
    await second.write('of the second');
    await expect(first.close()).rejects.toThrow('another process has replaced or deleted it');
    await second.close();
    expect(await readFile(path, 'utf8')).toBe('of the second');
  });

  const WRITERS = [
    ['--rejects', (path: string) => createPrivateFile('--rejects', path)],
    ['--rejects', (path: string) => checkPrivateFile('--rejects', path)],
    ['--export', (path: string) => createPrivateFile('--export', path, { isReplacedAtEnd: true })],
    ['--env', (path: string) => writeEnvFile(path, { TESSERA_API_KEY: 'key' })],
  ] as const;

  test.skipIf(process.platform === 'win32')('is never a pipe, even if nobody reads it', async () => {
    const path = join(folder, 'pipe.csv');
    await promisify(execFile)('mkfifo', [path]);
    for (const [flag, write] of WRITERS)
      await expect(write(path)).rejects.toThrow(`${flag}: could not write ${path}: it is a pipe or a device`);
    expect((await stat(path)).isFIFO()).toBe(true);
  });

  test.skipIf(process.geteuid?.() !== 0)('never replaces the file of another user', async () => {
    const path = join(folder, 'theirs.csv');
    await writeFile(path, 'theirs');
    await chown(path, 65_534, 65_534);
    for (const [flag, write] of WRITERS)
      await expect(write(path)).rejects.toThrow(`${flag}: could not write ${path}: it belongs to another user`);
    expect(await readFile(path, 'utf8')).toBe('theirs');
  });

  test('is a device as it is', async () => {
    const file = await createPrivateFile('--export', '/dev/null', { isReplacedAtEnd: true });
    await file.write('nothing');
    await file.close();
    expect((await stat('/dev/null')).isCharacterDevice()).toBe(true);
    expect(await gone('/dev/null.partial')).toBe('ENOENT');
  });

  test('is deleted if it is not kept, unless another file has taken its name', async () => {
    const path = join(folder, 'place.csv');
    await (await createPrivateFile('--rejects', path)).close(false);
    expect(await gone(path)).toBe('ENOENT');

    const first = await createPrivateFile('--rejects', path);
    const second = await createPrivateFile('--rejects', path);
    await second.write('of the second');
    await first.close(false);
    await second.close();
    expect(await readFile(path, 'utf8')).toBe('of the second');
  });
});
