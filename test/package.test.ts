/** The package as users get it: packed, unpacked beside its two dependencies, imported and type-checked. */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { filesBelow, root } from '../build/dist.ts';
import { entries, scripts } from '../build/entries.ts';
import { INSTALL_MS } from '../build/packages.ts';
import { openProfile } from './support/browser.ts';
import { consumers, installPacked, run, type User } from './support/packed.ts';

const WAIT = { timeout: 20_000 };
const TYPES_ONLY = 'tessera-id/global';

const importOf = (path: string) => `tessera-id${path.slice(1)}`;
const imports = Object.keys(entries).map(importOf);
/** Entry points for pages. A server that renders pages imports them too. */
const ofPages = Object.entries(entries)
  .filter(([, file]) => /^(session|token|page)\//.test(file))
  .map(([path]) => importOf(path));
/** Entry points that a server uses, in a project that may lack the types of a browser. */
const ofServers = Object.entries(entries)
  .filter(([, file]) => !/^page\//.test(file))
  .map(([path]) => importOf(path));

let packed: User;
let user: string;

beforeAll(async () => {
  await consumers();
  packed = await installPacked(['@types/node', 'undici-types', 'react', '@types/react', 'csstype']);
  user = packed.folder;
}, INSTALL_MS);

afterAll(() => packed.remove());

test('every entry point is imported by Node, and exports something', async () => {
  const print = `for (const path of ${JSON.stringify(imports)})
    if (Object.keys(await import(path)).length === 0) console.log(path);`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', print], { cwd: user });
  expect(stdout).toBe(`${TYPES_ONLY}\n`);
});

/**
 * A server that imports the entry points for pages and creates a session, with APIs that every runtime has. Prints which
 * entry point changed which global, the session's token, and its kind of persistence; another session stays open.
 */
const SERVER = `
  const readGlobals = () => new Map(
    Object.entries(Object.getOwnPropertyDescriptors(globalThis)).map(([name, { value, get }]) => [name, value ?? get]),
  );
  // React is CommonJS. Some runtimes add globals at the first CommonJS module.
  await import('react');
  const before = readGlobals();
  const changed = [];
  const modules = [];
  for (const path of ${JSON.stringify(ofPages)}) {
    modules.push(await import(path));
    const now = readGlobals();
    for (const name of new Set([...before.keys(), ...now.keys()]))
      if (!Object.is(before.get(name), now.get(name))) changed.push(path + ' ' + name);
  }
  const { createSession } = modules[0];
  const open = async (name) => {
    const fetch = () => Promise.reject(new Error('asked'));
    const session = createSession({ baseUrl: 'https://operator.example', name, fetch });
    await session.ready;
    const at = Date.now();
    await session.setTokens({
      status: 'success',
      body: {
        advertising_token: 'a-token',
        refresh_token: 'a-refresh-token-of-nobody',
        refresh_response_key: btoa('k'.repeat(32)),
        refresh_from: at + 900_000,
        identity_expires: at + 3_600_000,
        refresh_expires: at + 86_400_000,
      },
    });
    return session;
  };
  const session = await open('closed');
  const token = await session.getToken();
  const { persistence } = session.state;
  session.close();
  // Deno has no way to let a process end although a timer is set.
  if (!globalThis.Deno) await open('left open');
  console.log(JSON.stringify({ changed, token, persistence, after: session.advertisingToken ?? null }));
`;

/** Server runtimes: the program, and its arguments to run a file. The last two run only if they are installed. */
const runtimes: [name: string, program: string, argumentsFor: (file: string) => string[]][] = [
  ['Node', process.execPath, (file) => [file]],
  [
    'a worker thread of Node',
    process.execPath,
    (file) => ['-e', `new (require('node:worker_threads').Worker)('${file}');`],
  ],
  ['Deno', process.env['DENO'] ?? 'deno', (file) => ['run', '--allow-all', file]],
  ['Bun', process.env['BUN'] ?? 'bun', (file) => [file]],
];
for (const [name, program, argumentsFor] of runtimes) {
  const isThere = await run(program, ['--version']).then(
    () => true,
    () => false,
  );
  test.skipIf(!isThere)(
    `in ${name} the entry points for pages change no global, and a session does not keep the process alive`,
    async () => {
      const file = join(user, 'server.mjs');
      await writeFile(file, SERVER);
      // A handle of a session that keeps the process makes this time out; an uncaught error makes it reject.
      const { stdout } = await run(program, argumentsFor(file), { cwd: user, timeout: 30_000 });
      expect(JSON.parse(stdout)).toEqual({ changed: [], token: 'a-token', persistence: 'memory', after: null });
    },
  );
}

/** The compiler of this repository, and the oldest that docs/guarantees.md names: the directory of each. */
const NEWEST = 'node_modules/typescript';
const OLDEST = 'test/consumers/node_modules/typescript-oldest';

interface Project {
  readonly module?: string;
  readonly moduleResolution?: string;
  readonly lib?: readonly string[];
  readonly skipLibCheck?: boolean;
}

/** Type-check `files` in a project with the types of Node, declarations included; returns what tsc prints. */
const compile = async (files: string[], project: Project, compiler = NEWEST): Promise<string> => {
  const nodeNext = { module: 'NodeNext', moduleResolution: 'NodeNext', lib: ['ES2022', 'DOM'], skipLibCheck: false };
  const options = { ...nodeNext, target: 'ES2022', types: ['node'], strict: true, noEmit: true, ...project };
  await writeFile(join(user, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }));
  const tsc = join(root, compiler, 'bin/tsc');
  const { stdout } = await run(process.execPath, [tsc, '-p', user]).catch((failure: { stdout: string }) => failure);
  return stdout;
};

// An import path in a declaration that resolves to nothing would make this `any`, and the directive an error.
const IS_TYPED = `// @ts-expect-error\nexport const session: import('tessera-id').Session = 1;`;
const exportsOf = (paths: string[]) => paths.map((path, i) => `export * as entry${i} from '${path}';`);

test.each<[project: Project, compiler: string]>([
  [{}, NEWEST],
  [{ module: 'ESNext', moduleResolution: 'Bundler' }, NEWEST],
  [{}, OLDEST],
])('every declaration resolves, and none is `any`: %j, %s', async (project, compiler) => {
  await writeFile(join(user, 'user.ts'), [...exportsOf(imports), IS_TYPED].join('\n'));
  expect(await compile(['user.ts'], project, compiler)).toBe('');
});

test('the entry points for servers need no types of a browser', async () => {
  await writeFile(join(user, 'server.ts'), exportsOf(ofServers).join('\n'));
  expect(await compile(['server.ts'], { lib: ['ES2022'] })).toBe('');
});

test('the oldest TypeScript that the documents name is the one that compiled the above', async () => {
  const { version } = JSON.parse(await readFile(join(root, OLDEST, 'package.json'), 'utf8')) as { version: string };
  const [minor] = /^\d+\.\d+/.exec(version)!;
  expect(await readFile(`${root}docs/guarantees.md`, 'utf8')).toMatch(
    new RegExp(`need\\s+TypeScript\\s+${minor}\\s+or\\s+newer`),
  );
});

test('tools that do not read `exports` find every entry (TypeScript with node10), and the session (`main`)', async () => {
  await writeFile(join(user, 'old.ts'), [...exportsOf(imports), IS_TYPED].join('\n'));
  const node10 = { module: 'ESNext', moduleResolution: 'node10', skipLibCheck: true };
  expect(await compile(['old.ts'], node10, OLDEST)).toBe('');
  const { main, exports } = JSON.parse(await readFile(join(user, 'node_modules/tessera-id/package.json'), 'utf8'));
  expect(main).toBe(exports['.'].default);
});

test('`window.tessera` is typed before and after the script has loaded, and the Inspector is an element', async () => {
  await writeFile(
    join(user, 'page.ts'),
    `
    import 'tessera-id/global';
    import type { Session } from 'tessera-id';
    (window.tessera = window.tessera || []).push((t) => t.session?.on('token', ({ advertisingToken }) => advertisingToken));
    export const session: Session | undefined = window.tessera?.session;
    // @ts-expect-error no such member
    export const misspelt = window.tessera?.sesion;
    // @ts-expect-error a Response is no answer
    window.tessera?.session?.setTokens(new Response());
    `,
  );
  await writeFile(
    join(user, 'inspected.ts'),
    `
    import 'tessera-id/inspector';
    import type { Session } from 'tessera-id';
    declare const session: Session;
    document.createElement('tessera-inspector').session = session;
    // @ts-expect-error no session
    document.querySelector('tessera-inspector')!.session = 1;
    `,
  );
  expect(await compile(['page.ts', 'inspected.ts'], { skipLibCheck: true })).toBe('');
});

test('is at most 890 kB packed, and 3 MB unpacked', () => {
  expect(packed.size).toBeLessThanOrEqual(890_000);
  expect(packed.unpackedSize).toBeLessThanOrEqual(3_000_000);
});

test('only minified script files have source maps: they lead to the sources of this version, and no page asks for them', async () => {
  const files = (await filesBelow(`${root}dist`)).map((file) => relative(`${root}dist`, file));
  const minified = Object.keys(scripts).filter((name) => !scripts[name]!.isDevelopment);
  expect(files.filter((name) => name.endsWith('.map')).sort()).toEqual(minified.map((name) => `${name}.map`).sort());
  const { version } = JSON.parse(await readFile(`${root}package.json`, 'utf8')) as { version: string };
  const place = `https://raw.githubusercontent.com/tessera-id/tessera/v${version}/`;
  for (const name of minified) {
    expect(await readFile(`${root}dist/${name}`, 'utf8')).not.toContain('sourceMappingURL');
    const { sources } = JSON.parse(await readFile(`${root}dist/${name}.map`, 'utf8')) as { sources: string[] };
    expect(sources.length).toBeGreaterThan(0);
    for (const source of sources) {
      expect(source.startsWith(place)).toBe(true);
      await access(root + source.slice(place.length));
    }
  }
});

test('stack traces of the programs have the names of functions', async () => {
  const files = (await filesBelow(`${root}dist`)).filter((file) => /\/dist\/(cli|demo)\/[^/]+\.js$/.test(file));
  const code = (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('\n');
  for (const name of ['phaseOf', 'createOperator', 'startDemo'])
    expect(code).toMatch(new RegExp(`\\n(async )?function ${name}\\(`));
});

test('the React entry is a client module for server components', async () => {
  const [first] = (await readFile(`${root}dist/page/react.js`, 'utf8')).split('\n');
  expect(first).toMatch(/^['"]use client['"];$/);
});

test("the command starts with BusyBox's env (Alpine Linux), which passes the rest of the first line on as one name", async () => {
  const command = join(user, 'node_modules/tessera-id/dist/cli/main.js');
  const [first = ''] = (await readFile(command, 'utf8')).split('\n');
  const [interpreter = '', ...rest] = first.split(/ (.*)/s).filter(Boolean);
  // The system passes everything after the interpreter as one argument.
  expect([interpreter, rest.length]).toEqual(['#!/usr/bin/env', 1]);
  const program = (await run('sh', ['-c', 'command -v -- "$1"', 'sh', rest[0]!])).stdout.trim();
  expect((await run(program, [command, '--version'])).stdout).toMatch(/^\d+\.\d+\.\d+/);
});

test('the command names a file of --env that does not exist', async () => {
  const command = join(user, 'node_modules/tessera-id/dist/cli/main.js');
  const failure = await run(command, ['doctor', '--env', 'nowhere.env']).catch((error) => error);
  expect([failure.code, failure.stderr]).toEqual([2, 'error: --env: could not read nowhere.env: no such file\n']);
});

describe('tessera demo of the package', () => {
  let child: ChildProcessByStdio<null, Readable, Readable>;
  let exit: Promise<unknown[]>;
  let command: string;
  let url: string;
  let errors = '';
  beforeAll(async () => {
    command = join(user, 'node_modules/tessera-id/dist/cli/main.js');
    child = spawn(command, ['demo', '--port', '0'], { cwd: user, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stderr.on('data', (piece) => {
      errors += piece;
    });
    exit = once(child, 'close');
    for await (const line of createInterface(child.stdout)) {
      url = /^demo +(http:\S+)/.exec(line)?.[1] ?? url;
      if (line.startsWith('Ctrl-C')) break;
    }
  });
  afterAll(async () => {
    child.kill('SIGINT');
    expect(await exit).toEqual([0, null]);
    expect(errors).toBe('');
  });

  const open = async (path: string): Promise<Page> => {
    const page = await (await openProfile()).newPage();
    const thrown: Error[] = [];
    page.on('pageerror', (error) => thrown.push(error));
    onTestFinished(() => expect(thrown).toEqual([]));
    await page.goto(url + path);
    return page;
  };

  test.each(['/react', '/prebid'])('%s, which needs packages of the repository, shows only a notice', async (path) => {
    const page = await open(path);
    expect(await page.innerText('main')).toContain('needs packages that only a clone of the repository has');
    expect(await page.locator('main').locator('button, dl, pre, canvas').count()).toBe(0);
  });

  test('/compare says that Prebid and the UID2 JavaScript SDK are missing, with a command for each', async () => {
    const page = await open('/compare');
    const now = () => page.frameLocator('iframe[title="Tessera"]').locator('#now').textContent();
    await expect.poll(now, WAIT).toBe('a valid token');
    await expect
      .poll(() => page.innerText('#clients'), WAIT)
      .toMatch(/Running here: Tessera\.[\s\S]*npm run demo[\s\S]*npx tessera-id demo/);
    expect(await page.textContent('#counts')).toMatch(
      /^Tessera: without a valid token\d+ sTessera: refreshes sent\d+$/,
    );
  });

  test('/advertiser, which needs PGlite, names the package to install, and shows no counts', async () => {
    const page = await open('/advertiser');
    const said = () => page.textContent('#said');
    const missing =
      /needs the package @electric-sql\/pglite, .*: npm install @electric-sql\/pglite; then restart the demo$/;
    await expect.poll(said, WAIT).toMatch(missing);
    await page.click('#sample');
    await expect.poll(said, WAIT).toMatch(missing);
    expect(await page.locator('.figures dd').allTextContents()).toEqual(['–', '–', '–', '–']);
  });

  test('a given port that is in use exits with 1', async () => {
    const { port } = new URL(url);
    const failure = await run(command, ['demo', '--port', port], { cwd: user }).catch((error) => error);
    expect([failure.code, failure.stdout, failure.stderr]).toEqual([
      1,
      '',
      `error: could not listen on 127.0.0.1:${port} (EADDRINUSE): another process uses the port; choose another with --port, or 0 for any free one\n`,
    ]);
  });
});

test('the package contains the page that errors of the production build name', async () => {
  const at = join(user, 'node_modules/tessera-id');
  expect(await readFile(join(at, 'dist/tessera.js'), 'utf8')).toContain('see docs/errors.md of tessera-id');
  expect(await readFile(join(at, 'docs/errors.md'), 'utf8')).toBe(await readFile(`${root}docs/errors.md`, 'utf8'));
});

test('publint reports no problem', async () => {
  const { publint } = await consumers();
  const { messages } = await publint({ pkgDir: join(user, 'node_modules/tessera-id'), strict: true, pack: false });
  expect(messages.filter(({ type }) => type !== 'suggestion')).toEqual([]);
});

test('every entry has types for every module resolution that reads `exports`', async () => {
  const attw = join(root, 'test/consumers/node_modules/@arethetypeswrong/cli/dist/index.js');
  // Exits with 1, which rejects, for any problem except those of CommonJS and Node 10: the package is ESM only.
  const { stdout } = await run(process.execPath, [attw, packed.tarball, '--profile', 'esm-only', '--format', 'json']);
  const { analysis } = JSON.parse(stdout) as { analysis: { entrypoints: object } };
  expect(Object.keys(analysis.entrypoints)).toEqual(expect.arrayContaining(Object.keys(entries)));
});

test('a script-tag file that runs while the page loads begins with the hint to compile it at once', async () => {
  const eager = ['tessera.js', 'tessera-uid2.js', 'tessera.full.js'];
  for (const file of Object.keys(scripts)) {
    const text = await readFile(`${root}dist/${file}`, 'utf8');
    expect([file, text.startsWith('//# allFunctionsCalledOnLoad\n')]).toEqual([file, eager.includes(file)]);
  }
});

describe('the bill of materials', () => {
  interface Component {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
    readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
    readonly licenses?: readonly { readonly expression: string }[];
    readonly properties?: readonly { readonly value: string }[];
  }

  test('lists the packages in each file, and those that are installed beside it', async () => {
    const bom = JSON.parse(await readFile(`${root}dist/sbom.json`, 'utf8'));
    expect([bom.bomFormat, bom.specVersion]).toEqual(['CycloneDX', '1.6']);
    const components = bom.components as Component[];
    const filesOf = (name: string) =>
      components.find((found) => found.name === name)?.properties?.map(({ value }) => value);
    expect(filesOf('@noble/ciphers')).toEqual([
      'tessera-noble.js',
      'tessera-uid2.dev.js',
      'tessera.dev.js',
      'tessera.full.js',
    ]);
    expect(filesOf('idb-keyval')).toEqual([
      'tessera-uid2.dev.js',
      'tessera-uid2.js',
      'tessera.dev.js',
      'tessera.full.js',
      'tessera.js',
    ]);
    expect(filesOf('commander')?.every((file) => file.startsWith('cli/'))).toBe(true);
    for (const { name, version, purl, licenses, hashes } of components) {
      expect(hashes).toEqual([{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }]);
      expect(purl).toBe(`pkg:npm/${name.replace('@', '%40')}@${version}`);
      expect(licenses?.[0]?.expression).toMatch(/^[A-Za-z0-9.() -]+$/);
    }
  });

  test('is not all: script-tag files with noble carry its notice, the others do not', async () => {
    for (const file of Object.keys(scripts)) {
      const text = await readFile(`${root}dist/${file}`, 'utf8');
      expect([file, text.includes('@noble/ciphers, Copyright (c) 2022 Paul Miller')]).toEqual([
        file,
        ['tessera-noble.js', 'tessera.full.js', 'tessera.dev.js', 'tessera-uid2.dev.js'].includes(file),
      ]);
    }
  });
});
