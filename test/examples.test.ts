/**
 * The folders of examples/ as a user copies them, beside the packed package: type-checked, built with Vite, run against an operator.
 *
 * Next.js is not installed (it would take minutes in CI): its example imports nothing of it, so its route handler and its
 * components run without.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { cp, readdir, readFile, symlink } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { root } from '../build/dist.ts';
import { createOperator, type Operator } from '../src/operator/index.ts';
import { listen } from '../src/operator/node.ts';
import { openProfile } from './support/browser.ts';
import { installPacked, run, type User } from './support/packed.ts';

const NAMES = ['vite-react', 'nextjs', 'express', 'hono', 'plain-page', 'prebid'];

let user: User;
let operator: Operator;
let service: Awaited<ReturnType<typeof listen>>;
const folderOf = (name: string) => join(user.folder, 'examples', name);

beforeAll(async () => {
  user = await installPacked([]);
  // Everything else comes from this repository: the examples' own packages are among its development dependencies.
  const there = new Set(['tessera-id', 'idb-keyval', '@noble', '.bin', '.cache', '.package-lock.json']);
  for (const name of await readdir(`${root}node_modules`))
    if (!there.has(name)) await symlink(`${root}node_modules/${name}`, join(user.folder, 'node_modules', name));
  await cp(`${root}examples`, join(user.folder, 'examples'), { recursive: true });
  for (const name of NAMES) await symlink(join(user.folder, 'node_modules'), join(folderOf(name), 'node_modules'));
  operator = createOperator({ roles: ['GENERATOR'] });
  service = await listen(operator, { port: 0, graceMs: 0 });
  const { apiKey, clientSecret } = operator.participants[0]!;
  vi.stubEnv('TESSERA_BASE_URL', service.url);
  vi.stubEnv('TESSERA_API_KEY', apiKey);
  vi.stubEnv('TESSERA_CLIENT_SECRET', clientSecret);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await service.close();
  await user.remove();
});

/** Bundle a module of an example for Node, its packages left out, and return where it is. */
const compiled = async (name: string, file: string): Promise<string> => {
  const { build } = await import('esbuild');
  const outfile = join(folderOf(name), `${file.replaceAll('/', '-')}.mjs`);
  const entry = join(folderOf(name), file);
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    jsx: 'automatic',
  });
  return outfile;
};
const load = async (name: string, file: string) =>
  import(/* @vite-ignore */ pathToFileURL(await compiled(name, file)).href);

/** A signed-in user gets a set, nobody gets 204. */
const expectTokens = async (post: (headers: Record<string, string>) => Promise<Response>) => {
  const answer = await post({ cookie: 'user=reader%40example.com' });
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ status: 'success', body: { advertising_token: expect.any(String) } });
  expect((await post({})).status).toBe(204);
};

test('every folder of examples/ is tested and listed in its README', async () => {
  const folders = (await readdir(`${root}examples`, { withFileTypes: true })).filter((one) => one.isDirectory());
  expect(folders.map(({ name }) => name).sort()).toEqual([...NAMES].sort());
  const readme = await readFile(`${root}examples/README.md`, 'utf8');
  for (const name of NAMES) expect(readme).toContain(`[\`${name}\`](${name})`);
});

test.each(NAMES)('%s compiles against the packed package', async (name) => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const checked = run(process.execPath, [tsc, '-p', folderOf(name)]);
  const { stdout } = await checked.catch((failure: { stdout: string }) => failure);
  expect(stdout).toBe('');
});

test.each(['vite-react', 'prebid'])('%s is built by Vite without a warning', async (name) => {
  const { build, createLogger } = await import('vite');
  const customLogger = createLogger('silent');
  const warned: string[] = [];
  customLogger.warn = (message) => void warned.push(message);
  customLogger.warnOnce = customLogger.warn;
  await build({ root: folderOf(name), customLogger, build: { target: 'es2022' } });
  expect(await readdir(join(folderOf(name), 'dist'))).toContain('index.html');
  expect(warned.filter((message) => !message.includes('/prebid.js'))).toEqual([]);
});

describe('nextjs', () => {
  test('the route handler is loaded without secrets, and answers with them', async () => {
    vi.stubEnv('TESSERA_API_KEY', undefined);
    const { POST } = await load('nextjs', 'app/token/route.ts');
    vi.stubEnv('TESSERA_API_KEY', operator.participants[0]!.apiKey);
    await expectTokens((headers) => POST(new Request('https://www.example/token', { method: 'POST', headers })));
  });

  test('a server renders the layout and the page without a session, storage or a request', async () => {
    const fetch = vi.fn();
    vi.stubGlobal('fetch', fetch);
    const indexedDb = vi.fn();
    Object.defineProperty(globalThis, 'indexedDB', { configurable: true, get: indexedDb });
    onTestFinished(() => {
      vi.unstubAllGlobals();
      Reflect.deleteProperty(globalThis, 'indexedDB');
    });
    const { createElement } = await import('react');
    const { renderToString } = await import('react-dom/server');
    // One bundle, so that both have the same provider.
    const [{ default: Layout }, { default: Page }] = [
      await load('nextjs', 'app/layout.tsx'),
      await load('nextjs', 'app/page.tsx'),
    ];
    const html = renderToString(createElement(Layout, null, createElement(Page)));
    expect(html).toContain('No token: the page is loading');
    expect(fetch).not.toHaveBeenCalled();
    expect(indexedDb).not.toHaveBeenCalled();
  });
});

test('express answers with the tokens of the signed-in user', async () => {
  const { app } = await load('express', 'app.ts');
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => server.close());
  const { port } = server.address() as AddressInfo;
  await expectTokens((headers) => fetch(`http://127.0.0.1:${port}/token`, { method: 'POST', headers }));
});

test('hono answers with the tokens of the signed-in user', async () => {
  const { app } = await load('hono', 'app.ts');
  await expectTokens((headers) => app.request('/token', { method: 'POST', headers }));
});

/** Start the example's server, until the test ends; resolves with its address. */
const startServer = async (name: string): Promise<string> => {
  const child: ChildProcess = spawn(process.execPath, ['server.js'], {
    cwd: folderOf(name),
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`server.js ended with ${code}`)));
    child.stdout!.once('data', (line) => resolve(String(line).trim()));
  });
};

test('plain-page gets a token in a browser, and logs out', async () => {
  const origin = await startServer('plain-page');
  const context = await openProfile();
  await context.addCookies([{ name: 'user', value: 'reader%40example.com', url: origin }]);
  const page = await context.newPage();
  await page.goto(origin);
  await page.getByText('fresh, next: refresh (refresh_from)').waitFor();
  await page.getByText('Log out').click();
  await page.getByText('empty, next:').waitFor();
});
