/** The package as its users get it: packed, unpacked beside its two dependencies, imported and type-checked. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../build/bundle.ts';
import { entries } from '../build/entries.ts';
import { installPacked, run, type User } from './support/packed.ts';

const imports = Object.keys(entries).map((path) => `tessera-id${path.slice(1)}`);

let packed: User;
let user: string;

beforeAll(async () => {
  packed = await installPacked(['@types/node', 'undici-types', 'react', '@types/react', 'csstype']);
  user = packed.folder;
});

afterAll(() => packed.remove());

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

test('publint has nothing to say', async () => {
  const { publint } = await import('publint');
  const { messages } = await publint({ pkgDir: join(user, 'node_modules/tessera-id'), strict: true, pack: false });
  expect(messages.filter(({ type }) => type !== 'suggestion')).toEqual([]);
});

test('every entry has types for every way of resolving that knows `exports`', async () => {
  const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js');
  // Exit code 1, and so a rejection, for any problem but those of CommonJS and of Node 10: the package is ESM only.
  const { stdout } = await run(process.execPath, [attw, packed.tarball, '--profile', 'esm-only', '--format', 'json']);
  const { analysis } = JSON.parse(stdout) as { analysis: { entrypoints: object } };
  expect(Object.keys(analysis.entrypoints)).toEqual(expect.arrayContaining(Object.keys(entries)));
});
