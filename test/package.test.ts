/** The package as its users get it: packed, unpacked beside its two dependencies, imported and type-checked. */

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../build/bundle.ts';
import { entries } from '../build/entries.ts';

const run = promisify(execFile);
const imports = Object.keys(entries).map((path) => `tessera-id${path.slice(1)}`);
const DEPENDENCIES = ['idb-keyval', '@noble/ciphers'];

let user: string;

beforeAll(async () => {
  user = await mkdtemp(join(tmpdir(), 'tessera-user-'));
  const modules = join(user, 'node_modules');
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', user], {
    cwd: root,
  });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  await mkdir(join(modules, 'tessera-id'), { recursive: true });
  await run('tar', ['-xzf', join(user, filename), '-C', join(modules, 'tessera-id'), '--strip-components=1']);
  await mkdir(join(modules, '@noble'));
  await mkdir(join(modules, '@types'));
  for (const name of [...DEPENDENCIES, '@types/node', 'undici-types']) {
    await symlink(join(root, 'node_modules', name), join(modules, name));
  }
  await writeFile(join(user, 'package.json'), '{ "type": "module" }');
});

afterAll(() => rm(user, { recursive: true, force: true }));

test.each(imports)('%s is imported by Node', async (path) => {
  const print = `import * as all from '${path}'; console.log(Object.keys(all).length)`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', print], { cwd: user });
  expect(Number(stdout)).toBeGreaterThan(0);
});

describe.each([
  ['NodeNext', 'NodeNext'],
  ['ESNext', 'Bundler'],
])('with module %s, resolved the way of %s', (module, moduleResolution) => {
  test('every declaration is whole', async () => {
    await writeFile(
      join(user, 'user.ts'),
      imports.map((path, i) => `export * as entry${i} from '${path}';`).join('\n'),
    );
    const options = { module, moduleResolution, target: 'ES2022', lib: ['ES2022', 'DOM'], strict: true, noEmit: true };
    await writeFile(
      join(user, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { ...options, types: ['node'], skipLibCheck: false }, files: ['user.ts'] }),
    );
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout } = await run(process.execPath, [tsc, '-p', user]).catch((failure: { stdout: string }) => failure);
    expect(stdout).toBe('');
  });
});

test('the command runs by itself', async () => {
  const command = join(user, 'node_modules/tessera-id/dist/cli/main.js');
  expect((await run(command, ['--help'])).stdout).toContain('tessera');
});
