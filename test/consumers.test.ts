/** The packed package in other tools: bundlers, a page without a bundler, a server that renders. */

import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../build/dist.ts';
import { INSTALL_MS } from '../build/packages.ts';
import { openPage, startOperator } from './browser/publisher.ts';
import { serveSite } from './support/browser.ts';
import { consumers, installPacked, run, type User } from './support/packed.ts';

let user: User;

beforeAll(async () => {
  await consumers();
  user = await installPacked(['react', 'react-dom', 'scheduler']);
}, INSTALL_MS);
afterAll(() => user.remove());

const APP = `
  import { createSession, isTokenError } from 'tessera-id';
  const session = createSession({
    baseUrl: window.operator,
    allowInsecure: true,
    provide: ({ signal }) => fetch('/token', { method: 'POST', signal }).then((answer) => answer.json()),
  });
  window.causes = [];
  session.on('token', ({ cause }) => window.causes.push(cause));
  session.on('error', (error) => window.causes.push(isTokenError(error) && error.code));
`;
const GUARD_ONLY = `import { isTokenError } from 'tessera-id'; console.log(isTokenError(1));`;

type Bundler = (source: string, out: string) => Promise<void>;
const write = async (source: string) => {
  const file = join(user.folder, `entry-${Date.now()}-${Math.random()}.js`);
  await writeFile(file, source);
  return file;
};

const runWebpack = async (source: string, configuration: object): Promise<void> => {
  const { webpack } = await consumers();
  const entry = await write(source);
  await new Promise<void>((resolve, reject) =>
    webpack({ mode: 'production', context: user.folder, entry, ...configuration }, (error, stats) => {
      if (error || stats?.hasErrors()) reject(error ?? new Error(stats!.toString('errors-only')));
      else resolve();
    }),
  );
};

const bundlers: Record<string, Bundler> = {
  vite: async (source, outDir) => {
    const { build } = await import('vite');
    await build({
      root: user.folder,
      logLevel: 'silent',
      configFile: false,
      build: { outDir, rolldownOptions: { input: await write(source), output: { entryFileNames: 'app.js' } } },
    });
  },
  webpack: (source, path) => runWebpack(source, { output: { path, filename: 'app.js', publicPath: '/' } }),
  esbuild: async (source, outdir) => {
    const { build } = await import('esbuild');
    await build({
      entryPoints: { app: await write(source) },
      outdir,
      bundle: true,
      minify: true,
      splitting: true,
      format: 'esm',
      logLevel: 'error',
    });
  },
};

/** Handlers that serve the scripts of a directory below the path `base`. */
const filesOf = async (folder: string, base = '/') =>
  Object.fromEntries(
    (await readdir(folder, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile() && entry.name.endsWith('.js'))
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => [
        base + file.slice(folder.length + 1),
        async () => new Response(await readFile(file), { headers: { 'content-type': 'text/javascript' } }),
      ]),
  );

const expectRotation = async (page: Page) => {
  await page.waitForFunction('window.causes.length >= 2');
  expect(((await page.evaluate('window.causes')) as string[]).slice(0, 2)).toEqual(['provide', 'refresh']);
};

describe.each(Object.entries(bundlers))('%s', (name, bundle) => {
  test('bundles a page that refreshes its token, with Web Crypto and without', async () => {
    const out = join(user.folder, `dist-${name}`);
    await bundle(APP, out);
    const { baseUrl, handler } = await startOperator();
    const site = await serveSite({
      ...(await filesOf(out)),
      '/': `<!doctype html><title>page</title><script>window.operator = '${baseUrl}';</script><script type="module" src="/app.js"></script>`,
      '/token': handler,
    });
    await expectRotation(await openPage(`${site.origin}/`));
    // noble is in a chunk of its own, fetched only on the page without Web Crypto.
    const before = site.requests.length;
    await expectRotation(await openPage(`${site.plainOrigin}/`));
    const more = site.requests.slice(before).filter((request) => request.endsWith('.js'));
    expect(more.length).toBeGreaterThan(1);
  });

  test('drops code that is not imported', async () => {
    const out = join(user.folder, `guard-${name}`);
    await bundle(GUARD_ONLY, out);
    const code = await readFile(join(out, 'app.js'), 'utf8');
    expect(code).toContain('TokenError');
    for (const part of ['/v2/token/refresh', 'indexedDB', 'BroadcastChannel']) expect(code).not.toContain(part);
  });
});

test.each([
  ['development', true],
  ['production', false],
])('in %s a bundler chooses the build by the export condition; one copy of the session', async (mode, hasWarnings) => {
  const { build } = await import('vite');
  const source = `import { createSession } from 'tessera-id'; import * as react from 'tessera-id/react'; console.log(createSession, react);`;
  const outDir = join(user.folder, `mode-${mode}`);
  const resolve = { conditions: [mode, 'module', 'browser'] };
  const rolldownOptions = { input: await write(source), output: { entryFileNames: 'app.js' } };
  await build({
    root: user.folder,
    logLevel: 'silent',
    configFile: false,
    resolve,
    build: { outDir, minify: false, rolldownOptions },
  });
  const files = (await readdir(outDir, { recursive: true })).filter((name) => name.endsWith('.js'));
  const code = (await Promise.all(files.map((name) => readFile(join(outDir, name), 'utf8')))).join('');
  expect(code.includes('securitypolicyviolation')).toBe(hasWarnings);
  expect(code.split('function createSession').length).toBe(2);
});

/** A server's code, bundled for Node in one file. */
const serverBundlers: Record<string, Bundler> = {
  webpack: (source, path) =>
    runWebpack(source, {
      target: 'node20',
      experiments: { outputModule: true },
      output: { path, filename: 'app.mjs', module: true },
    }),
  esbuild: async (source, outdir) => {
    const { build } = await import('esbuild');
    await build({
      entryPoints: { app: await write(source) },
      outdir,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      platform: 'node',
      format: 'esm',
      logLevel: 'silent',
    });
  },
};

test.each(Object.entries(serverBundlers))(
  '%s bundles an operator without a database for a server that has no database engine; a database names the missing package',
  async (name, bundle) => {
    const source = `
      import { createOperator } from 'tessera-id/operator';
      await createOperator({ roles: ['GENERATOR'] }).ready;
      const failed = createOperator({ roles: ['GENERATOR'], rootSecret: '${'A'.repeat(43)}=', database: './operator-data' });
      console.log(await failed.ready.catch((error) => error.message));
    `;
    const out = join(user.folder, `server-${name}`);
    await bundle(source, out);
    const { stdout } = await run(process.execPath, [join(out, 'app.mjs')], { cwd: out, timeout: 30_000 });
    expect(stdout).toContain('needs the package @electric-sql/pglite');
  },
);

test('a page without a bundler imports the files unchanged, from a path like that of a CDN', async () => {
  const { baseUrl, handler } = await startOperator();
  const modules = join(user.folder, 'node_modules');
  const folders = ['tessera-id', 'idb-keyval', '@noble/ciphers'];
  const files = await Promise.all(folders.map((name) => filesOf(join(modules, name), `/npm/${name}@1.2.3/`)));
  const { exports } = JSON.parse(await readFile(join(modules, 'tessera-id/package.json'), 'utf8')) as {
    exports: Record<string, { default: string }>;
  };
  const imports = {
    'tessera-id': `/npm/tessera-id@1.2.3/${exports['.']!.default.slice(2)}`,
    'idb-keyval': '/npm/idb-keyval@1.2.3/dist/index.js',
    '@noble/ciphers/': '/npm/@noble/ciphers@1.2.3/',
  };
  const site = await serveSite({
    ...Object.assign({}, ...files),
    '/': `<!doctype html><title>page</title><script type="importmap">${JSON.stringify({ imports })}</script>
      <script>window.operator = '${baseUrl}';</script><script type="module">${APP}</script>`,
    '/token': handler,
  });
  await expectRotation(await openPage(`${site.origin}/`));
});

test('an Angular app, with `async` compiled away for zone.js as its tools do: the recipe of docs/pages/frameworks.md keeps the zone stable', async () => {
  const { baseUrl, handler } = await startOperator(15);
  const [, recipe] = /## Angular\n\n```ts\n(.*?)```/s.exec(await readFile(`${root}docs/pages/frameworks.md`, 'utf8'))!;
  const source = `
    import 'zone.js';
    import { createEnvironmentInjector, runInInjectionContext, ɵINJECTOR_SCOPE } from '@angular/core';
    const [baseUrl, provide] = ['${baseUrl}', () => fetch('/token', { method: 'POST' }).then((answer) => answer.json())];
    ${recipe}
    const zone = (window.zone = new NgZone({}));
    const browser = { provide: PLATFORM_ID, useValue: 'browser' };
    const providers = [browser, { provide: NgZone, useValue: zone }, { provide: ɵINJECTOR_SCOPE, useValue: 'root' }];
    const app = createEnvironmentInjector(providers, null);
    window.token = zone.run(() => runInInjectionContext(app, injectToken));
    window.changes = 0;
    zone.onMicrotaskEmpty.subscribe(() => window.changes++);
    const inside = zone.run(() => createSession({ baseUrl, provide, name: 'inside' }));
    window.closeInside = () => zone.run(() => inside.close());
    window.stored = inside.getToken().then(() => inside.state.persistence);
  `;
  const { build } = await import('esbuild');
  const bundle = await build({
    stdin: { contents: source, loader: 'ts', resolveDir: user.folder },
    bundle: true,
    write: false,
    nodePaths: [`${root}test/consumers/node_modules`],
    supported: { 'async-await': false, 'async-generator': false },
    logLevel: 'error',
  });
  const site = await serveSite({
    '/': '<!doctype html><title>page</title><script src="/app.js"></script>',
    '/app.js': () => new Response(bundle.outputFiles[0]!.text, { headers: { 'content-type': 'text/javascript' } }),
    '/token': handler,
  });
  const page = await openPage(`${site.origin}/`);
  await page.waitForFunction('token() && changes');
  // A session inside the zone works, but its timer keeps the zone unstable.
  expect(await page.evaluate('stored')).toBe('indexeddb');
  expect(await page.evaluate('zone.hasPendingMacrotasks')).toBe(true);
  await page.evaluate('closeInside()');
  await page.waitForFunction('zone.isStable && !zone.hasPendingMacrotasks');
});

test('a CommonJS project with TypeScript: `module: node20` compiles and runs, `node16` is rejected as docs/errors.md says', async () => {
  const folder = await mkdtemp(join(user.folder, 'commonjs-'));
  await writeFile(join(folder, 'package.json'), '{}');
  await writeFile(
    join(folder, 'app.ts'),
    `import { createClient } from 'tessera-id/server'; import type { Session } from 'tessera-id';
     export type Users = Session; console.log(typeof createClient);`,
  );
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const compile = (module: string) =>
    run(process.execPath, [tsc, '--strict', '--target', 'es2022', '--module', module, '--types', '', 'app.ts'], {
      cwd: folder,
    });
  await compile('node20');
  expect(await readFile(join(folder, 'app.js'), 'utf8')).toContain('require("tessera-id/server")');
  expect((await run(process.execPath, ['app.js'], { cwd: folder })).stdout).toBe('function\n');
  await expect(compile('node16')).rejects.toMatchObject({ stdout: expect.stringMatching(/TS1479.*TS1541/s) });
});

test('on a server the drop-in does nothing: nobody is signed in, and the process ends', async () => {
  const source = `
    import { installUid2 } from 'tessera-id/uid2';
    const asked = [];
    globalThis.fetch = async (url) => asked.push(url);
    const uid2 = installUid2();
    uid2.callbacks.push((event) => {
      asked.push(event);
      __uid2.init({});
    });
    uid2.init({ baseUrl: 'https://operator.example', identity: {} });
    uid2.setIdentity({});
    uid2.getAdvertisingTokenAsync().catch(() => {});
    const read = [uid2.getAdvertisingToken() ?? null, uid2.getIdentity(), uid2.isInitComplete()];
    uid2.disconnect();
    uid2.abort();
    console.log(JSON.stringify({ read, asked, global: typeof __uid2 }));
  `;
  const file = join(user.folder, 'drop-in.mjs');
  await writeFile(file, source);
  const { stdout } = await run(process.execPath, [file], { cwd: user.folder, timeout: 30_000 });
  expect(JSON.parse(stdout)).toEqual({ read: [null, null, false], asked: [], global: 'undefined' });
});

test('on a server the adapters do nothing, and the gates of a CMP and of the browser give no consent', async () => {
  const source = `
    import { createSession } from 'tessera-id';
    import { allOf, gpcConsent, gppConsent, tcfConsent } from 'tessera-id/consent';
    import { inspect } from 'tessera-id/inspector';
    import { connectPrebid } from 'tessera-id/prebid';
    import { connectSecureSignals } from 'tessera-id/secure-signals';
    import { connectWebview } from 'tessera-id/webview';

    // Node 21 and newer have a navigator.
    Object.defineProperty(globalThis, 'navigator', { configurable: true, value: {} });
    const asked = [];
    const open = (name, consent) => {
      const session = createSession({ baseUrl: 'https://operator.example', name, consent, provide: async () => asked.push(name) && null });
      session.on('error', ({ message }) => asked.push(message));
      return session;
    };
    const session = open('adapters', () => false);
    const link = connectWebview(session);
    for (const disconnect of [connectPrebid(session), connectSecureSignals(session), link.disconnect, inspect(session).stop]) disconnect();
    const linked = await link.ready;
    const gates = { tcf: tcfConsent(), gpp: gppConsent(), gpc: gpcConsent(), all: allOf(tcfConsent(), gpcConsent()) };
    const answers = [];
    for (const [name, gate] of Object.entries(gates)) {
      const { ready, close } = open(name, gate);
      answers.push(await gate(() => {}));
      await ready;
      close();
    }
    session.close();
    console.log(JSON.stringify({ linked, answers, asked }));
  `;
  const file = join(user.folder, 'adapters.mjs');
  await writeFile(file, source);
  for (const build of ['default', 'development']) {
    const { stdout, stderr } = await run(process.execPath, ['-C', build, file], { cwd: user.folder, timeout: 30_000 });
    expect(JSON.parse(stdout)).toEqual({ linked: false, answers: [false, false, false, false], asked: [] });
    // The development build says of each session that this is no browser.
    expect(stderr.replace(/^\[tessera\] createSession: expected a browser, got a server.*\n/gm, '')).toBe('');
  }
});
