/** The package as users receive it: packed, and unpacked into a project's `node_modules` beside its dependencies. */

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { root } from '../../build/dist.ts';
import { install } from '../../build/packages.ts';
import type { Packed } from './pack.ts';

export const run = promisify(execFile);

/** A kind of object in Kubernetes. `validate` throws if the object does not match the schema. */
type Model = new (object: object) => { validate(): void };

/** The packages of test/consumers/, as far as tests use them: it is installed on first use, so `tsc` does not see their types. */
interface Consumers
  extends Readonly<Record<'Deployment' | 'Service' | 'PodDisruptionBudget' | 'NetworkPolicy', Model>> {
  publint(options: object): Promise<{ readonly messages: readonly { readonly type: string }[] }>;
  webpack(
    configuration: object,
    done: (error: Error | null, stats?: { hasErrors(): boolean; toString(what: string): string }) => void,
  ): void;
}

/** Install test/consumers/ on first use, and load it. */
export const consumers = async (): Promise<Consumers> => {
  await install('test/consumers');
  return import(/* @vite-ignore */ pathToFileURL(`${root}test/consumers/index.js`).href);
};

export interface User extends Packed {
  /** The project's directory, with a package.json and `node_modules`. */
  readonly folder: string;
  remove(): Promise<void>;
}

/**
 * Unpack the package into a new project.
 *
 * @param beside  packages of this repository's `node_modules` to add to the project.
 */
export const installPacked = async (beside: readonly string[]): Promise<User> => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-user-'));
  const modules = join(folder, 'node_modules');
  const packed = inject('packed');
  await mkdir(join(modules, 'tessera-id'), { recursive: true });
  await run('tar', ['-xzf', packed.tarball, '-C', join(modules, 'tessera-id'), '--strip-components=1']);
  for (const name of ['idb-keyval', '@noble/ciphers', ...beside]) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(root, 'node_modules', name), join(modules, name));
  }
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  return { folder, ...packed, remove: () => rm(folder, { recursive: true, force: true }) };
};
