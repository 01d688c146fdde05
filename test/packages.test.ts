/** Packages that only few tasks need, which scripts and tests install on first use. */

import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { root } from '../build/dist.ts';

test('they are installed although a build has set NODE_ENV to production', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-packages-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const own = { name: 'user', version: '1.0.0', devDependencies: { dependency: 'file:dependency' } };
  const packages = {
    '': own,
    dependency: { version: '1.0.0', dev: true },
    'node_modules/dependency': { resolved: 'dependency', link: true },
  };
  await mkdir(join(folder, 'dependency'));
  await writeFile(join(folder, 'dependency/package.json'), JSON.stringify({ name: 'dependency', version: '1.0.0' }));
  await writeFile(join(folder, 'package.json'), JSON.stringify(own));
  await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ ...own, lockfileVersion: 3, packages }));
  const script = ['--import', 'tsx', 'build/packages.ts', relative(root, folder)];
  const env = { ...process.env, NODE_ENV: 'production' };
  await promisify(execFile)(process.execPath, script, { cwd: root, env });
  await expect(access(join(folder, 'node_modules/dependency'))).resolves.toBeUndefined();
});
