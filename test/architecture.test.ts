import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bundle, filesBelow, root } from '../build/dist.ts';
import { command, entries } from '../build/entries.ts';
import {
  contentsRule,
  cycleRule,
  hubRule,
  lengthRule,
  outsideRule,
  packageOf,
  type Rule,
  readModule,
  roomRule,
  syntaxRule,
} from './support/architecture.ts';

type Chunk = Awaited<ReturnType<typeof bundle>>[number];

const readJson = async (file: string) => JSON.parse(await readFile(root + file, 'utf8'));

const sources = await Promise.all(
  (await filesBelow(`${root}src`))
    .filter((file) => /\.tsx?$/.test(file))
    .map(async (file) => ({ path: relative(`${root}src`, file), code: await readFile(file, 'utf8') })),
);
const house = sources.map(readModule);

/** Each rule, what it holds, and for each way to break it the files that do and what is said of them. */
const rules: [name: string, rule: Rule, broken: [files: Record<string, string>, said: string][]][] = [
  [
    'a room imports only the rooms that it may know',
    roomRule,
    [
      [{ 'token/a.ts': `import { b } from '../session/b.ts';` }, 'the room token may not know session'],
      [{ 'session/a.ts': `export { b } from '../server/b.ts';` }, 'the room session may not know server'],
      [{ 'server/a.ts': `import type { B } from '../operator/b.ts';` }, 'the room server may not know operator'],
      [{ 'operator/a.ts': `const b = await import('../server/b.ts');` }, 'the room operator may not know server'],
      [{ 'session/a.ts': `export * from '../page/b.ts';` }, 'the room session may not know page'],
      [{ 'token/a.ts': `export type A = import('../server/b.ts').B;` }, 'the room token may not know server'],
      [{ 'database/a.ts': `import '../operator/b.ts';` }, 'the room database may not know operator'],
      [{ 'utils/a.ts': '' }, 'expected one of the rooms'],
      [{ 'a.ts': '' }, 'expected one of the rooms'],
    ],
  ],
  [
    'only the hub of a session runs its steps',
    hubRule,
    [
      [{ 'session/tabs.ts': `import { write } from './store.ts';` }, 'only session/session.ts runs a step'],
      [{ 'session/record.ts': `import { refresh } from './refresh.ts';` }, 'only session/session.ts runs a step'],
      [{ 'page/script.ts': `import { a } from '../session/events.ts';` }, 'only session/session.ts runs a step'],
      [{ 'session/options.ts': `import { type A, b } from './tabs.ts';` }, 'only session/session.ts runs a step'],
    ],
  ],
  [
    'what comes from outside comes in at one place',
    outsideRule,
    [
      [{ 'session/session.ts': `import { get } from 'idb-keyval';` }, 'allowed in session/store.ts'],
      [{ 'token/envelope.ts': `await import('@noble/ciphers/aes.js');` }, 'allowed in token/cipher.ts'],
      [{ 'page/webview.ts': `import { sha256 } from '@noble/hashes/sha2.js';` }, 'allowed in token/dii.ts'],
      [{ 'server/call.ts': `import { Buffer } from 'node:buffer';` }, 'allowed in operator/node.ts'],
      [{ 'operator/operator.ts': `import type { Server } from 'node:http';` }, 'allowed in operator/node.ts'],
      [{ 'cli/main.ts': `import fs from 'fs';` }, 'allowed in no file'],
      [{ 'server/call.ts': `import axios from 'axios';` }, 'allowed in no file'],
      [{ 'token/a.ts': `const url = ''; import(url);` }, '(computed)'],
    ],
  ],
  [
    'no import cycle, not even of types',
    cycleRule,
    [
      [
        { 'token/a.ts': `import { b } from './b.ts';`, 'token/b.ts': `import { a } from './a.ts';` },
        'token/a.ts -> token/b.ts -> token/a.ts',
      ],
      [
        {
          'token/a.ts': `import './b.ts';`,
          'token/b.ts': `export * from './c.ts';`,
          'token/c.ts': `import type { B } from './b.ts';`,
        },
        'token/b.ts -> token/c.ts -> token/b.ts',
      ],
    ],
  ],
  [
    'an index.ts is a contents page and nothing else',
    contentsRule,
    [
      [{ 'token/index.ts': 'export const a = 1;' }, 'expected only re-exports'],
      [{ 'token/index.ts': `import { a } from './a.ts'; export { a };` }, 'expected only re-exports'],
    ],
  ],
  [
    'no default export, no enum, no namespace',
    syntaxRule,
    [
      [{ 'token/a.ts': 'export default 1;' }, 'no default export'],
      [{ 'token/a.ts': 'const a = 1; export { a as default };' }, 'no default export'],
      [{ 'token/a.ts': 'export enum A { B }' }, 'no enum'],
      [{ 'token/a.ts': 'enum A { B }' }, 'no enum'],
      [{ 'token/a.ts': 'namespace A { export const b = 1; }' }, 'no namespace'],
    ],
  ],
  [
    'a file can be read in one go',
    lengthRule,
    [[{ 'token/a.ts': 'export {};\n'.repeat(301) }, 'expected 300 lines at most, got 301']],
  ],
];

describe.each(rules)('%s', (_, rule, broken) => {
  test('holds in src/', () => {
    expect(rule(house)).toEqual([]);
  });

  test.each(broken)('is broken by %o', (files, said) => {
    const found = rule(Object.entries(files).map(([path, code]) => readModule({ path, code })));
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(said);
  });
});

test('what is allowed is found to be allowed', () => {
  const fine = {
    'token/index.ts': `export * from './a.ts'; export { type B, c } from './b.ts'; export type { D } from './d.ts';`,
    'session/index.ts': `export { memoryStore } from './store.ts';`,
    'session/session.ts': `import { refresh } from './refresh.ts'; import { b } from '../token/b.ts';`,
    'session/refresh.ts': `import type { SessionRecord } from './record.ts'; import { type Store } from './store.ts';`,
    'session/store.ts': `import { get } from 'idb-keyval';`,
    'operator/node.ts': `import { createServer } from 'node:http';`,
    'page/script.ts': `declare global { interface Window { tessera?: object } }`,
    'cli/main.ts': `import { createOperator } from '../operator/index.ts';`,
  };
  const modules = Object.entries(fine).map(([path, code]) => readModule({ path, code }));
  expect(rules.flatMap(([, rule]) => rule(modules))).toEqual([]);
});

describe('the package', () => {
  test('names for every entry the files that are built from its source', async () => {
    const { exports, bin } = await readJson('package.json');
    const { './package.json': own, ...paths } = exports;
    expect(own).toBe('./package.json');
    expect(Object.keys(paths)).toEqual(Object.keys(entries));
    for (const [path, file] of Object.entries(entries)) {
      expect(paths[path]).toEqual({ types: `./dist/${file}.d.ts`, default: `./dist/${file}.js` });
    }
    expect(bin).toEqual({ tessera: `dist/${command}.js` });
    const files = sources.map(({ path }) => path.replace(/\.tsx?$/, ''));
    expect(files).toEqual(expect.arrayContaining([...Object.values(entries), command]));
  });

  test('has two dependencies, and pins every version', async () => {
    const { dependencies, devDependencies } = await readJson('package.json');
    expect(Object.keys(dependencies).sort()).toEqual(['@noble/ciphers', 'idb-keyval']);
    for (const version of Object.values({ ...dependencies, ...devDependencies })) {
      expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    }
  });

  test('has a lockfile without download URLs', async () => {
    const lock = await readFile(`${root}package-lock.json`, 'utf8');
    expect(lock).not.toContain('"resolved"');
    expect(lock).not.toMatch(/https?:\/\/[^"]*\.tgz/);
  });
});

describe('what is built', async () => {
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
  /** Those of them that a static import loads. */
  const filesAtOnce = (entry: string) => [...reached(`${entries[entry]}.js`, true)];
  /** Modules that left code in a file. */
  const contentOf = (file: Chunk | undefined) =>
    Object.entries(file?.modules ?? {}).flatMap(([id, { renderedLength }]) => (renderedLength > 0 ? [id] : []));
  const modulesOf = (entry: string) => filesOf(entry).flatMap((path) => contentOf(files.get(path)));
  const hashing = (modules: readonly string[]) => modules.filter((id) => id.includes('@noble/hashes'));

  describe.each([
    ['tessera.js', ['src/page/noble.ts'], ['build/noble.ts', '@noble/ciphers']],
    ['tessera-uid2.js', ['src/page/noble.ts'], ['build/noble.ts', '@noble/ciphers']],
    ['tessera.full.js', ['build/noble.ts', '@noble/ciphers'], ['src/page/noble.ts']],
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

    test('contains no hashing', () => {
      expect(hashing(modules)).toEqual([]);
    });
  });

  test.each(Object.keys(entries).filter((entry) => /^page\/(?!uid2|react)/.test(entries[entry]!)))(
    '%s is one file without imports',
    (entry) => {
      expect(filesOf(entry)).toEqual([`${entries[entry]}.js`]);
    },
  );

  test('a session contains no hashing', () => {
    expect(hashing(modulesOf('.'))).toEqual([]);
    expect(hashing(modulesOf('./operator'))).not.toEqual([]);
  });

  test.each(Object.keys(entries))('%s imports no package except the two dependencies', (entry) => {
    const ofNode = entry === './operator/node' ? ['node:'] : [];
    const named = (paths: string[]) => paths.filter((path) => !files.has(path)).map(packageOf);
    const ofReact = entry === './react' ? ['react'] : [];
    const dependencies = [...ofNode, ...ofReact, 'idb-keyval', '@noble/ciphers'];
    for (const name of named(filesAtOnce(entry))) expect(dependencies).toContain(name);
    // Database engines, loaded on demand if an option asks for one.
    const engines = ['./operator', './mapping'].includes(entry) ? ['node:', '@electric-sql/pglite', 'pg'] : [];
    for (const name of named(filesOf(entry))) expect([...dependencies, ...engines]).toContain(name);
  });

  test.each(Object.keys(entries).filter((entry) => entry !== './operator/node'))(
    '%s imports no module of Node',
    (entry) => {
      expect(modulesOf(entry).filter((id) => id.includes('browser-external'))).toEqual([]);
      for (const path of filesOf(entry)) expect(files.get(path)?.code ?? '').not.toMatch(/createRequire|\brequire\(/);
    },
  );
});
