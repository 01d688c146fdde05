/**
 * The folders of examples/ as a user copies them, beside the packed package: type-checked, built with Vite, run against an operator.
 *
 * Next.js is not installed (it would take minutes in CI): its example imports only `cookies` of it, for which a stand-in answers, so
 * that its route handler and its components run without. Nor is React Native, whose example is checked with the types that the
 * documentation is checked with; test/hosts/metro.test.ts bundles it.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { root } from '../build/dist.ts';
import { INSTALL_MS } from '../build/packages.ts';
import { createOperator, type Operator } from '../src/operator/index.ts';
import { listen } from '../src/operator/node.ts';
import { createClient } from '../src/server/index.ts';
import { blocks } from './docs/blocks.ts';
import { openProfile } from './support/browser.ts';
import { ruleAgainst } from './support/filter-rules.ts';
import { consumers, installPacked, run, type User } from './support/packed.ts';

const NAMES = ['vite-react', 'nextjs', 'express', 'hono', 'plain-page', 'prebid', 'capacitor', 'expo', 'duckdb'];

interface Connection {
  runAndReadAll(sql: string): Promise<{ getRowObjectsJson(): Record<string, unknown>[] }>;
}

let user: User;
let operator: Operator;
let service: Awaited<ReturnType<typeof listen>>;
const folderOf = (name: string) => join(user.folder, 'examples', name);

/** Install `next/headers`, with the cookies in `nextCookies`. */
async function installNextHeaders(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, 'package.json'),
    '{"name":"next","type":"module","exports":{"./headers":"./headers.js"}}',
  );
  await writeFile(
    join(folder, 'headers.d.ts'),
    'export declare function cookies(): Promise<{ get(name: string): { name: string; value: string } | undefined }>;',
  );
  await writeFile(
    join(folder, 'headers.js'),
    'export const cookies = async () => ({ get: (name) => name in globalThis.nextCookies ? { name, value: globalThis.nextCookies[name] } : undefined });',
  );
}

async function packagesIn(modules: string): Promise<string[]> {
  const names = (await readdir(modules)).filter((name) => !name.startsWith('.'));
  const ofScope = async (name: string) =>
    name.startsWith('@') ? (await readdir(join(modules, name))).map((one) => `${name}/${one}`) : [name];
  return (await Promise.all(names.map(ofScope))).flat();
}

/** Link a package into the user's `node_modules`, unless it is there. */
async function linkPackage(modules: string, name: string): Promise<void> {
  const path = join(user.folder, 'node_modules', name);
  await mkdir(dirname(path), { recursive: true });
  await symlink(join(modules, name), path).catch((error) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

beforeAll(async () => {
  user = await installPacked([]);
  await consumers();
  // Everything else comes from this repository: the examples' own packages are among its development dependencies.
  for (const from of [`${root}node_modules`, `${root}test/consumers/node_modules`])
    for (const name of await packagesIn(from)) await linkPackage(from, name);
  await cp(`${root}examples`, join(user.folder, 'examples'), { recursive: true });
  await installNextHeaders(join(user.folder, 'node_modules/next'));
  await mkdir(join(folderOf('expo'), 'types'));
  await cp(`${root}test/docs/ambient/react-native.d.ts`, join(folderOf('expo'), 'types/react-native.d.ts'));
  const env = 'declare const process: { readonly env: Readonly<Record<string, string | undefined>> };';
  await writeFile(join(folderOf('expo'), 'types/process.d.ts'), env);
  for (const name of NAMES) await symlink(join(user.folder, 'node_modules'), join(folderOf(name), 'node_modules'));
  operator = createOperator({ roles: ['GENERATOR'] });
  service = await listen(operator, { port: 0, graceMs: 0 });
  const { apiKey, clientSecret } = operator.participants[0]!;
  vi.stubEnv('TESSERA_BASE_URL', service.url);
  vi.stubEnv('TESSERA_API_KEY', apiKey);
  vi.stubEnv('TESSERA_CLIENT_SECRET', clientSecret);
}, INSTALL_MS);
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

/** The label of `reader@example.com`: no hash that somebody without the secret could compute. */
const labelIn = (encoding: 'base64url' | 'hex') =>
  createHmac('sha256', operator.participants[0]!.clientSecret).update('reader@example.com').digest(encoding);

/** The page names whom it was rendered for, by the label, and is in no cache. */
const expectLabel = async (get: (headers: Record<string, string>) => Promise<Response>, label: string) => {
  const page = await get({ cookie: 'user=reader%40example.com' });
  expect(page.headers.get('cache-control')).toBe('private, no-store');
  const html = await page.text();
  expect(html).toContain(`data-user="${label}"`);
  expect(html).toContain(`data-base-url="${service.url}"`);
  expect(html).not.toContain('reader@example.com');
  expect(await (await get({})).text()).toContain('data-user=""');
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

test.each(['vite-react', 'prebid', 'capacitor'])('%s is built by Vite without a warning', async (name) => {
  const { build, createLogger } = await import('vite');
  const customLogger = createLogger('silent');
  const warned: string[] = [];
  customLogger.warn = (message) => void warned.push(message);
  customLogger.warnOnce = customLogger.warn;
  await build({ root: folderOf(name), customLogger, build: { target: 'es2022' } });
  const files = await readdir(join(folderOf(name), 'dist'), { recursive: true });
  expect(files).toContain('index.html');
  // Content blockers leave the built page alone.
  expect(files.filter((file) => ruleAgainst(`https://site.example/${file}`))).toEqual([]);
  expect(warned.filter((message) => !message.includes('/prebid.js'))).toEqual([]);
});

test('capacitor: cap copies the page that was built into an Android project', async () => {
  const cwd = folderOf('capacitor');
  const env = { ...process.env, CI: 'true', CAPACITOR_DISABLE_TELEMETRY: '1' };
  for (const command of ['add', 'sync'])
    await run(process.execPath, ['node_modules/@capacitor/cli/bin/capacitor', command, 'android'], { cwd, env });
  const assets = join(cwd, 'android/app/src/main/assets');
  expect(await readFile(join(assets, 'public/index.html'), 'utf8')).toContain('Tessera in an app');
  expect(JSON.parse(await readFile(join(assets, 'capacitor.config.json'), 'utf8'))).toMatchObject({ webDir: 'dist' });
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
    vi.stubGlobal('nextCookies', {});
    const html = renderToString(await Layout({ children: createElement(Page) }));
    expect(html).toContain('No token: the page is loading');
    expect(fetch).not.toHaveBeenCalled();
    expect(indexedDb).not.toHaveBeenCalled();
  });

  test('the layout passes the label of the signed-in user to the provider, or null for nobody', async () => {
    onTestFinished(() => void vi.unstubAllGlobals());
    const { default: Layout } = await load('nextjs', 'app/layout.tsx');
    const labelFor = async (cookies: object) => {
      vi.stubGlobal('nextCookies', cookies);
      return (await Layout({ children: null })).props.children.props.children.props.user;
    };
    expect(await labelFor({ user: 'reader@example.com' })).toBe(labelIn('base64url'));
    expect(await labelFor({})).toBe(null);
  });
});

describe('duckdb', () => {
  test('maps a lake, the next day what is due and new, and removes users who have opted out', async () => {
    const folder = await mkdtemp(join(user.folder, 'lake-'));
    let at = Date.UTC(2026, 0, 1);
    const mapping = createOperator({ roles: ['MAPPER', 'OPTOUT'], now: () => at });
    const listening = await listen(mapping, { port: 0, graceMs: 0 });
    const { apiKey, clientSecret } = mapping.participants[0]!;
    const client = createClient({ baseUrl: listening.url, apiKey, clientSecret, now: () => at });
    onTestFinished(async () => {
      vi.useRealTimers();
      await listening.close();
      await mapping.close();
    });
    const env = { TESSERA_BASE_URL: listening.url, TESSERA_API_KEY: apiKey, TESSERA_CLIENT_SECRET: clientSecret };
    const lake = pathToFileURL(join(folderOf('duckdb'), 'lake.js')).href;
    // In its own process: the command's clock is the operator's.
    const clock = `const { now } = Date; const from = now(); Date.now = () => ${'{AT}'} + now() - from;`;
    const step = async (code: string) => {
      const preload = `data:text/javascript,${encodeURIComponent(clock.replace('{AT}', `${at}`))}`;
      const options = { env: { ...process.env, ...env, NODE_OPTIONS: `--import ${preload}` } };
      await run(
        process.execPath,
        ['--input-type=module', '-e', `import * as lake from '${lake}'; ${code}`, folder],
        options,
      );
    };
    const { DuckDBInstance } = (await import(
      /* @vite-ignore */ pathToFileURL(`${root}test/consumers/node_modules/@duckdb/node-api/lib/index.js`).href
    )) as { DuckDBInstance: { create(): Promise<{ connect(): Promise<Connection> }> } };
    const duck = await (await DuckDBInstance.create()).connect();
    const query = async (sql: string) => (await duck.runAndReadAll(sql)).getRowObjectsJson();
    const people = (
      count: number,
    ) => `COPY (SELECT i AS id, 'lake-' || i || '@example.com' AS email FROM range(${count}) t(i))
      TO '${folder}/people.parquet' (FORMAT parquet)`;
    const stored = () =>
      query(`SELECT * REPLACE (epoch_ms(refresh_at)::DOUBLE AS refresh_at)
      FROM '${folder}/mappings.parquet' ORDER BY id`);
    /** The rows as the service maps them now. */
    const mapped = async (count: number) => {
      const rows = Array.from({ length: count }, (_, id) => ({ id, email: `lake-${id}@example.com` }));
      return (await client.mapIdentities(rows).toArray()).map((result) => ({
        id: `${result.dii.id}`,
        advertising_id: result.status === 'mapped' ? result.rawId : null,
        previous_id: result.status === 'mapped' ? result.previousRawId : null,
        refresh_at: result.status === 'mapped' ? result.remapAt : null,
        unmapped_reason: result.status === 'mapped' ? null : 'optout',
      }));
    };

    await query(people(6_000));
    await step(`await lake.mapDue(process.argv[1], new Date(${at}));`);
    const first = await mapped(6_000);
    expect(await stored()).toEqual(first);

    at += 86_400_000;
    await query(people(6_100));
    await client.optOut({ email: 'lake-7@example.com' });
    await step(`await lake.mapDue(process.argv[1], new Date(${at})); await lake.applyOptOuts(process.argv[1]);`);
    const second = await mapped(6_100);
    expect(first[7]!.advertising_id).not.toBeNull();
    expect(second[7]!.unmapped_reason).toBe('optout');
    expect(await stored()).toEqual(second);
    expect((await stat(`${folder}/mappings.parquet`)).mode & 0o777).toBe(0o600);
    // Files with DII are gone.
    expect((await readdir(folder)).sort()).toEqual(['mappings.parquet', 'people.parquet']);

    // The query of the documentation selects the same: nobody of 2026 is new, and all with a raw ID are due by now.
    const page = blocks.filter((block) => block.page.endsWith('mapping/warehouse.md'));
    const [{ code }] = page.filter(({ language }) => language === 'sql') as [(typeof page)[0]];
    await query(code.replace(/'(\w+\.\w+)'/g, `'${folder}/$1'`).replace('now()', `TIMESTAMPTZ '2027-01-01'`));
    const due = (await readFile(`${folder}/due.jsonl`, 'utf8')).trim().split('\n');
    expect(due).toHaveLength(second.filter(({ refresh_at }) => refresh_at !== null).length);
    expect(JSON.parse(due[0]!)).toEqual({ id: expect.any(Number), email: expect.stringContaining('lake-') });
  });
});

const serveExpress = async () => {
  const { app } = await load('express', 'app.ts');
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

test('express answers with the tokens of the signed-in user', async () => {
  const origin = await serveExpress();
  await expectTokens((headers) => fetch(`${origin}/token`, { method: 'POST', headers }));
  await expectLabel((headers) => fetch(`${origin}/`, { headers }), labelIn('base64url'));
});

test('express counts the page views that are reported to it, in the series that the Grafana dashboard shows', async () => {
  const origin = await serveExpress();
  const calls = { provide: 1, refresh: 0, failed: 0 };
  const page = { version: 1, integration: 'script', navigation: 'navigate', persistence: 'indexeddb', calls };
  const reports = [
    { ...page, phase: 'fresh', tokenMs: 300, cause: 'provide' },
    { ...page, phase: 'empty', waitingFor: 'provide' },
    { version: 1, phase: 'empty', waitingFor: 'consent' },
  ];
  for (const report of reports) {
    const { status } = await fetch(`${origin}/vitals`, { method: 'POST', body: JSON.stringify(report) });
    expect(status).toBe(204);
  }
  const text = await (await fetch(`${origin}/metrics`)).text();
  expect(text).toContain('page_views_total{token="yes",reason=""} 1');
  expect(text).toContain('page_views_total{token="no",reason="consent"} 1');
  expect(text).toContain('page_token_seconds_bucket{le="0.5",cause="provide"} 1');
  const { panels } = JSON.parse(await readFile(`${root}deploy/grafana/dashboard.json`, 'utf8'));
  const shown = [...JSON.stringify(panels).matchAll(/\bpage_\w+/g)].map(([name]) => name);
  expect(new Set(shown)).toEqual(new Set(['page_views_total', 'page_token_seconds_bucket']));
});

test('express ends with an error if its port is in use', async () => {
  const env = { ...process.env, PORT: new URL(service.url).port };
  const started = run(process.execPath, ['--import', 'tsx', 'server.ts'], { cwd: folderOf('express'), env });
  const { stdout, stderr } = await started.catch((failure: { stdout: string; stderr: string }) => failure);
  expect(stderr).toContain('EADDRINUSE');
  expect(stdout).toBe('');
});

test.each([
  ['express', ['--import', 'tsx', 'server.ts'], 'TESSERA_BASE_URL'],
  ['hono', ['--import', 'tsx', 'server.ts'], 'TESSERA_API_KEY'],
  ['plain-page', ['server.js'], 'TESSERA_CLIENT_SECRET'],
])('%s names the variable that is missing', async (name, args, variable) => {
  const env = { ...process.env, PORT: '0', [variable]: undefined };
  const started = run(process.execPath, args, { cwd: folderOf(name), env, timeout: 30_000 });
  const { stdout, stderr } = await started.catch((failure: { stdout: string; stderr: string }) => failure);
  expect(stderr).toContain(`Error: ${variable}: expected an environment variable, got none`);
  expect(stdout).toBe('');
});

test('hono answers with the tokens of the signed-in user', async () => {
  const { app } = await load('hono', 'app.ts');
  await expectTokens((headers) => app.request('/token', { method: 'POST', headers }));
  await expectLabel((headers) => app.request('/', { headers }), labelIn('hex'));
});

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

test.each([
  ['a method that `Request` refuses', 'TRACE', '/token', {}, 405],
  ['a host that is none', 'POST', '/token', { host: '[' }, 400],
  ['a malformed cookie', 'GET', '/', { cookie: 'user=%' }, 200],
])('plain-page answers %s, and continues', async (_, method, path, headers, expected) => {
  const origin = await startServer('plain-page');
  // `fetch` refuses to send these.
  const status = await new Promise((resolve, reject) =>
    request(origin + path, { method, headers }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end(),
  );
  expect(status).toBe(expected);
  expect((await fetch(origin)).status).toBe(200);
});
