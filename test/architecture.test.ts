import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { bundle, filesBelow, root } from '../build/dist.ts';
import { command, entries } from '../build/entries.ts';
import {
  cycleRule,
  dialectRule,
  entranceRule,
  folderRule,
  indexRule,
  lengthRule,
  operatorRule,
  packageOf,
  packageRule,
  type Rule,
  readModule,
  sessionRule,
  syntaxRule,
} from './support/architecture.ts';

/** The folders with packages that build/packages.ts installs. */
const INSTALLED_ON_FIRST_USE = [
  'bench',
  'build/mutation',
  'build/reference',
  'demo/prebid',
  'docs/.vitepress',
  'test/consumers',
  'test/hosts',
];

/** The one folder that documents name and a clone does not have. */
const GENERATED = 'docs/reference/';

type Chunk = Awaited<ReturnType<typeof bundle>>[number];

const readJson = async (file: string) => JSON.parse(await readFile(root + file, 'utf8'));

const sources = await Promise.all(
  (await filesBelow(`${root}src`))
    .filter((file) => /\.tsx?$/.test(file))
    .map(async (file) => ({ path: relative(`${root}src`, file), code: await readFile(file, 'utf8') })),
);
const modules = sources.map(readModule);

/** Each rule with its sentence, and modules that break it with a part of the message. */
const rules: [name: string, rule: Rule, broken: [files: Record<string, string>, message: string][]][] = [
  [
    'a folder imports only the folders that it may import',
    folderRule,
    [
      [{ 'token/a.ts': `import { b } from '../session/index.ts';` }, 'token/ must not import session/'],
      [{ 'session/a.ts': `export { b } from '../server/index.ts';` }, 'session/ must not import server/'],
      [{ 'session/a.ts': `export * from '../page/b.ts';` }, 'session/ must not import page/'],
      [{ 'page/a.ts': `import { b } from '../server/index.ts';` }, 'page/ must not import server/'],
      [{ 'server/a.ts': `import type { B } from '../operator/index.ts';` }, 'server/ must not import operator/'],
      [{ 'server/a.ts': `import { type B } from '../database/index.ts';` }, 'server/ must not import database/'],
      [{ 'operator/http/a.ts': `const b = await import('../../server/b.ts');` }, 'operator/ must not import server/'],
      [{ 'mapping/a.ts': `import '../operator/index.ts';` }, 'mapping/ must not import operator/'],
      [{ 'database/a.ts': `import '../operator/index.ts';` }, 'database/ must not import operator/'],
      [{ 'token/a.ts': `export type A = import('../server/b.ts').B;` }, 'token/ must not import server/'],
      [{ 'operator/a.ts': `import { b } from '../cli/b.ts';` }, 'operator/ must not import cli/'],
      [{ 'session/a.ts': `import { b } from '../testing/index.ts';` }, 'session/ must not import testing/'],
      [{ 'utils/a.ts': '' }, 'expected one of the folders'],
      [{ 'a.ts': '' }, 'expected one of the folders'],
    ],
  ],
  [
    'a folder is entered through its index.ts or a shared file',
    entranceRule,
    [
      [
        { 'page/user-id-module.ts': `import type { Session } from '../session/types.ts';` },
        'expected session/index.ts',
      ],
      [{ 'server/a.ts': `import { hashOf } from '../token/dii.ts';` }, 'expected token/index.ts'],
      [{ 'cli/a.ts': `export { b } from '../server/b.ts';` }, 'expected server/index.ts'],
      [{ 'cli/map/a.ts': `const b = await import('../../mapping/b.ts');` }, 'expected mapping/index.ts'],
      [{ 'cli/a.ts': `import { b } from '../operator/http/index.ts';` }, 'expected operator/index.ts'],
      [{ 'page/a.ts': `export type A = import('../session/b.ts').B;` }, 'expected session/index.ts'],
    ],
  ],
  [
    'in a session, rules are pure, and explanations and browser files are independent',
    sessionRule,
    [
      [{ 'session/rules/decide.ts': `import { b } from '../browser/clock.ts';` }, 'imports only token/ and itself'],
      [{ 'session/rules/record.ts': `import type { State } from '../types.ts';` }, 'imports only token/ and itself'],
      [{ 'session/rules/retry.ts': `import { get } from 'idb-keyval';` }, 'imports only token/ and itself'],
      [
        { 'session/explain/entry.ts': `import { a, type B } from '../rules/retry.ts';` },
        'imports only token/ and itself',
      ],
      [{ 'session/browser/tabs.ts': `import { b } from './store.ts';` }, 'do not import each other'],
      [{ 'session/browser/clock.ts': `import type { B } from './tabs.ts';` }, 'do not import each other'],
    ],
  ],
  [
    'in the operator, a folder imports only folders below it',
    operatorRule,
    [
      [
        { 'operator/endpoints/a.ts': `import type { B } from '../http/b.ts';` },
        'operator/http is above operator/endpoints',
      ],
      [
        { 'operator/state/a.ts': `import '../administration/b.ts';` },
        'operator/administration is above operator/state',
      ],
      [
        { 'operator/ports/a.ts': `export type A = import('../state/b.ts').B;` },
        'operator/state is above operator/ports',
      ],
      [{ 'operator/service.ts': `await import('./http/b.ts');` }, 'operator/http is above operator/service.ts'],
      [{ 'operator/http/a.ts': `export { b } from '../index.ts';` }, 'operator/index.ts is above operator/http'],
      [{ 'operator/utils/a.ts': '' }, 'expected in operator/ one of crypto, ports'],
      [{ 'operator/a.ts': '' }, 'expected in operator/ one of crypto, ports'],
    ],
  ],
  [
    'a package is imported only where it is permitted',
    packageRule,
    [
      [{ 'session/session.ts': `import { get } from 'idb-keyval';` }, 'permitted in session/browser/store.ts'],
      [{ 'token/cipher.ts': `await import('@noble/ciphers/aes.js');` }, 'permitted in token/noble-gcm.ts'],
      [{ 'page/webview.ts': `import { sha256 } from '@noble/hashes/sha2.js';` }, 'permitted in token/dii.ts'],
      [{ 'server/call.ts': `import { Buffer } from 'node:buffer';` }, 'permitted in operator/node.ts'],
      [{ 'operator/operator.ts': `import type { Server } from 'node:http';` }, 'permitted in operator/node.ts'],
      [{ 'cli/main.ts': `import fs from 'fs';` }, 'permitted in no file'],
      [{ 'server/call.ts': `import axios from 'axios';` }, 'permitted in no file'],
      [{ 'token/a.ts': `const url = ''; import(url);` }, '(computed)'],
    ],
  ],
  [
    'there is no import cycle, including imports of types',
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
    'an index.ts only re-exports, and exports have names',
    indexRule,
    [
      [{ 'token/index.ts': 'export const a = 1;' }, 'expected only re-exports'],
      [{ 'token/index.ts': `import { a } from './a.ts'; export { a };` }, 'expected only re-exports'],
      [{ 'token/index.ts': `export * from './a.ts';` }, 'got export *'],
      [{ 'token/a.ts': `export * as b from './b.ts';` }, 'got export *'],
      [{ 'token/a.ts': `export type * from './b.ts';` }, 'got export *'],
    ],
  ],
  [
    'there is no default export, no enum, no namespace',
    syntaxRule,
    [
      [{ 'token/a.ts': 'export default 1;' }, 'no default export'],
      [{ 'token/a.ts': 'const a = 1; export { a as default };' }, 'no default export'],
      [{ 'token/a.ts': 'export enum A { B }' }, 'no enum'],
      [{ 'token/a.ts': 'enum A { B }' }, 'no enum'],
      [{ 'token/a.ts': 'const enum A { B }' }, 'no enum'],
      [{ 'token/a.ts': 'namespace A { export const b = 1; }' }, 'no namespace'],
    ],
  ],
  [
    'at the top level, functions are declarations, comments docstrings, and a module is imported once',
    dialectRule,
    [
      [{ 'token/a.ts': 'const a = () => 1;' }, 'a: expected a function declaration'],
      [{ 'token/a.ts': 'export const a = async <T>(b: T) => b;' }, 'a: expected a function declaration'],
      [{ 'token/a.ts': 'const a = function () {};' }, 'a: expected a function declaration'],
      [
        { 'token/a.ts': `import type { B } from './b.ts'; import { c } from './b.ts';` },
        'expected one import of ./b.ts',
      ],
      [{ 'token/a.ts': '// One.\nconst a = 1;' }, 'expected a docstring, got // One.'],
      [{ 'token/a.ts': '/** One. */\n// Two.\nexport type A = 1;' }, 'expected a docstring, got // Two.'],
    ],
  ],
  [
    'files have at most 250 lines, functions at most 60',
    lengthRule,
    [
      [{ 'token/a.ts': 'export {};\n'.repeat(251) }, 'expected at most 250 lines, got 251'],
      [{ 'token/a.ts': `function a() {${'\n'.repeat(60)}}` }, 'a: expected at most 60 lines, got 61'],
      [{ 'token/a.ts': `export const b = () => {${'\n'.repeat(60)}};` }, 'b: expected at most 60 lines, got 61'],
      [{ 'token/a.ts': `const o = { c() {${'\n'.repeat(60)}} };` }, 'c: expected at most 60 lines, got 61'],
      [{ 'token/a.ts': `const o = { d: function () {${'\n'.repeat(60)}} };` }, 'd: expected at most 60 lines, got 61'],
      [{ 'token/a.ts': `class A { e() {${'\n'.repeat(60)}} }` }, 'e: expected at most 60 lines, got 61'],
      [{ 'token/a.ts': `class A { f = () => {${'\n'.repeat(60)}} }` }, 'f: expected at most 60 lines, got 61'],
      [{ 'token/a.ts': `[1].map(() => {${'\n'.repeat(60)}});` }, 'anonymous function: expected at most 60 lines'],
      [
        { 'token/a.tsx': `export function G() { return <p>{${'\n'.repeat(60)}1}</p>; }` },
        'G: expected at most 60 lines',
      ],
    ],
  ],
];

describe.each(rules)('%s', (_, rule, broken) => {
  test('in src/', () => {
    expect(rule(modules)).toEqual([]);
  });

  test.each(broken.map(([files, message], row) => ({ row, files, message })))(
    'violation $row: $message',
    ({ files, message }) => {
      const found = rule(Object.entries(files).map(([path, code]) => readModule({ path, code })));
      expect(found).toHaveLength(1);
      expect(found[0]).toContain(message);
    },
  );
});

test('permitted modules break no rule', () => {
  const permitted = {
    'token/index.ts': `export { type B, c } from './b.ts'; export type { D } from './d.ts';`,
    'token/noble-gcm.ts': `export { gcm } from '@noble/ciphers/aes.js';`,
    'session/index.ts': `export { memoryStore } from './browser/store.ts';`,
    'session/session.ts': `import { decide } from './rules/decide.ts'; import { b } from '../token/bytes.ts';`,
    'session/rules/decide.ts': `import type { Held } from '../../token/phase.ts'; import { lease } from './retry.ts';`,
    'session/browser/store.ts': `import { get } from 'idb-keyval'; import type { Store } from '../types.ts';`,
    'page/script.ts': `declare global { interface Window { tessera?: object } }`,
    'page/user-id-module.ts': `import type { Session } from '../session/index.ts';`,
    'mapping/mappings.ts': `import { b } from '../server/index.ts'; import { c } from '../database/index.ts';`,
    'operator/node.ts': `import { createServer } from 'node:http';`,
    'operator/http/a.ts': `import './b.ts'; import type { Endpoint } from '../endpoints/endpoint.ts';`,
    'cli/main.ts': `import { createOperator } from '../operator/index.ts'; import { listen } from '../operator/node.ts';`,
    'token/a.ts': `import * as a from './c.ts'; import { b } from './c.ts';\n// A heading.\n\nconst d: D = () => b;\n// All.\nexport { d };`,
    'token/b.ts': '// biome-ignore lint/a: b\nexport const c = [1].map((one) => one);\n// A statement.\nrun();',
    'database/engines/a.ts': `export function a() {${'\n'.repeat(59)}}\n${'export {};\n'.repeat(190)}`,
  };
  const read = Object.entries(permitted).map(([path, code]) => readModule({ path, code }));
  expect(rules.flatMap(([, rule]) => rule(read))).toEqual([]);
});

test.each(['CONTRIBUTING.md', 'src/session/index.ts'])(
  'every file and every name that %s quotes exists',
  async (file) => {
    const text = await readFile(root + file, 'utf8');
    const quoted = [...text.replace(/```.*?```/gs, '').matchAll(/`([^`\n]+)`/g)].map(([, quote]) => quote!);
    const tracked = (
      await promisify(execFile)('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root })
    ).stdout.split('\n');
    const isFile = (path: string) => tracked.some((name) => `/${name}`.includes(`/${path}`));
    const files = tracked.filter((name) => /^(src|test)\/.*\.tsx?$/.test(name));
    const code = (await Promise.all(files.map((name) => readFile(root + name, 'utf8')))).join('\n');
    const missing = quoted.filter((quote) =>
      /^[\w./-]+(\.\w+|\/)$/.test(quote)
        ? !isFile(quote) && quote !== GENERATED
        : /^[a-z]\w*[A-Z]\w*$|^[A-Z][a-z]\w+$/.test(quote) && !new RegExp(`\\b${quote}\\b`).test(code),
    );
    expect(missing).toEqual([]);
  },
);

describe('the package', () => {
  test('lists for every entry the files built from its source', async () => {
    const { exports, bin } = await readJson('package.json');
    const { './package.json': own, ...paths } = exports;
    expect(own).toBe('./package.json');
    expect(Object.keys(paths)).toEqual(Object.keys(entries));
    for (const [path, file] of Object.entries(entries)) {
      // Full error messages and warnings for pages. Servers always have them.
      const isOfPage = /^(session|token|page)\//.test(file) && path !== './global';
      expect(paths[path]).toEqual({
        types: `./dist/${file}.d.ts`,
        ...(isOfPage && { development: `./dist/development/${file}.js` }),
        default: `./dist/${file}.js`,
      });
    }
    expect(bin).toEqual({ tessera: `dist/${command}.js`, 'tessera-id': `dist/${command}.js` });
    const files = sources.map(({ path }) => path.replace(/\.tsx?$/, ''));
    expect(files).toEqual(expect.arrayContaining([...Object.values(entries), command]));
  });

  test('has two dependencies', async () => {
    const { dependencies } = await readJson('package.json');
    expect(Object.keys(dependencies).sort()).toEqual(['@noble/ciphers', 'idb-keyval']);
  });

  describe.each(['', ...INSTALLED_ON_FIRST_USE])('in %s/', (folder) => {
    test('every version is pinned', async () => {
      const { dependencies, devDependencies } = await readJson(join(folder, 'package.json'));
      for (const version of Object.values({ ...dependencies, ...devDependencies })) {
        expect(version).toMatch(/^(?:npm:[\w-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/);
      }
    });

    test('the lock file has no download URLs, nor will one that npm writes', async () => {
      const lock = await readFile(join(root, folder, 'package-lock.json'), 'utf8');
      expect(lock).not.toContain('"resolved"');
      expect(lock).not.toMatch(/https?:\/\/[^"]*\.tgz/);
      const settings = await readFile(join(root, folder, '.npmrc'), 'utf8');
      expect(settings).toContain('omit-lockfile-registry-resolved=true');
    });
  });

  test('a clone installs at most 300 packages, besides those for its platform', async () => {
    const { packages } = await readJson('package-lock.json');
    const names = Object.keys(packages).filter((path) => path && !packages[path].os && !packages[path].cpu);
    expect(names.length).toBeLessThanOrEqual(300);
  });
});

/** The entry points that import modules of Node. */
const OF_NODE = ['./operator/node', './server/node'];

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
