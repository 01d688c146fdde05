/** Which modules and packages are in the built files, and what an entry point loads at once and on demand. */

import { readFile } from 'node:fs/promises';
import { transform } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { bundle, root } from '../build/dist.ts';
import { entries, scripts } from '../build/entries.ts';
import { OLDEST } from './support/oldest.ts';

type Chunk = Awaited<ReturnType<typeof bundle>>[number];

/** The package of a specifier; `node:` for every module of Node. */
const packageOf = (specifier: string) => /^(?:node:|@[^/]+\/[^/]+|[^/]+)/.exec(specifier)![0];

/** The entry points that import modules of Node. */
const OF_NODE = ['./operator/node', './server/node'];

const isOfPage = (source: string) => /^(src\/)?(session|token|page)\//.test(source) && !source.includes('inspector');

/** The code as esbuild writes it: it rewrites syntax that is newer than a target. */
const written = async (code: string, target: string | string[]) => {
  // It rewrites optional chains for Chrome before 91, which fails if arguments follow `...` in an optional call. No file has such.
  const { code: result } = await transform(code, { target, supported: { 'optional-chain': true } });
  return result;
};
const expectOldSyntax = async (code: string) =>
  expect(await written(code, Object.values(OLDEST))).toBe(await written(code, 'esnext'));

test.each(Object.keys(scripts).filter((name) => isOfPage(scripts[name]!.source)))(
  '%s has only syntax of the oldest browsers',
  async (name) => expectOldSyntax(await readFile(`${root}dist/${name}`, 'utf8')),
);

describe('the built files', async () => {
  const files = new Map((await bundle('production')).map((file) => [file.fileName, file]));
  const reached = (path: string, atOnce: boolean, seen = new Set<string>()): Set<string> => {
    if (seen.has(path)) return seen;
    seen.add(path);
    const { imports = [], dynamicImports = [] } = files.get(path) ?? {};
    for (const next of atOnce ? imports : [...imports, ...dynamicImports]) reached(next, atOnce, seen);
    return seen;
  };
  /** The files of an entry point, including those loaded on demand, and the packages that it imports. */
  const filesOf = (entry: string) => [...reached(`${entries[entry]}.js`, false)];
  const filesAtOnce = (entry: string) => [...reached(`${entries[entry]}.js`, true)];
  const contentOf = (file: Chunk | undefined) =>
    Object.entries(file?.modules ?? {}).flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? [id] : []));
  const modulesOf = (entry: string) => filesOf(entry).flatMap((path) => contentOf(files.get(path)));
  const hashing = (modules: readonly string[]) => modules.filter((id) => id.includes('@noble/hashes'));

  describe.each([
    ['tessera.js', ['src/page/script/noble.ts'], ['build/noble.ts', '@noble/ciphers']],
    ['tessera-uid2.js', ['src/page/script/noble.ts'], ['build/noble.ts', '@noble/ciphers']],
    ['tessera.full.js', ['build/noble.ts', '@noble/ciphers'], ['src/page/script/noble.ts']],
  ])('%s', async (name, inside, outside) => {
    const chunks = await bundle(name);
    const modules = chunks.flatMap(contentOf);
    const has = (part: string) => modules.some((id) => id.includes(part));

    test('is one file without static imports', () => {
      expect(chunks.map(({ fileName }) => fileName)).toEqual([name]);
      expect(chunks[0]!.imports).toEqual([]);
    });

    test('contains AES-GCM in JavaScript, or the code that fetches it', () => {
      expect(inside.filter(has)).toEqual(inside);
      expect([...outside, 'src/token/noble.ts'].filter(has)).toEqual([]);
    });

    test('contains no hashing', () => expect(hashing(modules)).toEqual([]));
  });

  test.each(Object.keys(entries).filter((entry) => isOfPage(entries[entry]!)))(
    '%s has only syntax of the oldest browsers',
    async (entry) => {
      for (const path of filesOf(entry)) await expectOldSyntax(files.get(path)?.code ?? '');
    },
  );

  test.each(Object.keys(entries).filter((entry) => /^page\/(?!uid2|react)/.test(entries[entry]!)))(
    '%s is one file without imports',
    (entry) => {
      expect(filesOf(entry)).toEqual([`${entries[entry]}.js`]);
    },
  );

  test('the adapters of the development build import only files of its folder', async () => {
    for (const { fileName, imports } of await bundle('development'))
      if (/\/page\/(?!uid2|react)/.test(fileName))
        expect(imports.filter((path) => !path.startsWith('development/chunks/'))).toEqual([]);
  });

  test('a session contains no hashing', () => {
    expect(hashing(modulesOf('.'))).toEqual([]);
    expect(hashing(modulesOf('./operator'))).not.toEqual([]);
  });

  test.each(Object.keys(entries))('%s imports no package except the two dependencies', (entry) => {
    const ofNode = OF_NODE.includes(entry) ? ['node:'] : [];
    const named = (paths: string[]) => paths.filter((path) => !files.has(path)).map(packageOf);
    const ofReact = entry === './react' ? ['react'] : [];
    const dependencies = [...ofNode, ...ofReact, 'idb-keyval', '@noble/ciphers'];
    for (const name of named(filesAtOnce(entry))) expect(dependencies).toContain(name);
    // Database engines, loaded on demand if an option asks for one.
    const engines = ['./operator', './mapping', './testing'].includes(entry)
      ? ['node:', '@electric-sql/pglite', 'pg']
      : [];
    for (const name of named(filesOf(entry))) expect([...dependencies, ...engines]).toContain(name);
  });

  test.each(Object.keys(entries).filter((entry) => !OF_NODE.includes(entry)))(
    '%s imports no module of Node',
    (entry) => {
      expect(modulesOf(entry).filter((id) => id.includes('browser-external'))).toEqual([]);
      for (const path of filesOf(entry)) expect(files.get(path)?.code ?? '').not.toMatch(/createRequire|\brequire\(/);
    },
  );
});
