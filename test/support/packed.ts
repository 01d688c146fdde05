/** The package as users receive it: packed, and unpacked into a project's `node_modules` beside its dependencies. */

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../build/dist.ts';

export const run = promisify(execFile);

export interface User {
  /** The project's directory, with a package.json and `node_modules`. */
  readonly folder: string;
  /** The packed file. */
  readonly tarball: string;
  remove(): Promise<void>;
}

/**
 * Pack the current `dist/`, and install it into a new project.
 *
 * @param beside  packages of this repository's `node_modules` to add to the project.
 */
export const installPacked = async (beside: readonly string[]): Promise<User> => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-user-'));
  const modules = join(folder, 'node_modules');
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
    cwd: root,
  });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  const tarball = join(folder, filename);
  await mkdir(join(modules, 'tessera-id'), { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', join(modules, 'tessera-id'), '--strip-components=1']);
  for (const name of ['idb-keyval', '@noble/ciphers', ...beside]) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(root, 'node_modules', name), join(modules, name));
  }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  return { folder, tarball, remove: () => rm(folder, { recursive: true, force: true }) };
};
