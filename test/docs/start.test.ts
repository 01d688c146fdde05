/**
 * The guides of docs/start/ as a reader follows them: each command and each file in its order, from an empty folder, with the packed
 * package, real packages of the registry and a real Chromium. Only ports and the path of the packed file are other ones. Blocks that
 * are neither a command nor a file are only compiled, by types.test.ts.
 */

import { exec, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import type { Page } from 'playwright-core';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { openProfile } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { blocks } from './blocks.ts';

const WAIT = { timeout: 60_000 };
/** The commands that run until they are stopped; each prints its URL. */
const SERVES = /^(npx tessera-id (operator|demo)|node --env-file|npx next (dev|start)|npx vite$)/;

/** The port of a guide -> the one that this run uses. */
const ports = new Map<string, string>();
beforeAll(async () => {
  for (const port of ['8080', '8081', '3000', '3001']) ports.set(port, `${await freePort()}`);
});
const withPorts = (text: string) => text.replace(/\b(8080|8081|3000|3001)\b/g, (port) => ports.get(port)!);

/** A reader's environment, not that of a test. */
const { NODE_ENV, VITEST, FORCE_COLOR, ...environment } = process.env;
const quick = { npm_config_audit: 'false', npm_config_fund: 'false', npm_config_prefer_offline: 'true' };
const env = { ...environment, ...quick, NEXT_TELEMETRY_DISABLED: '1', NO_COLOR: '1' };

/** Start a command that runs until it is stopped. */
const serve = async (command: string, cwd: string) => {
  const child = spawn(command, { cwd, env, shell: true, detached: true });
  const ended = once(child, 'exit');
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGTERM');
    await ended;
  };
  onTestFinished(stop);
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      printed += stripVTControlCharacters(`${text}`);
    });
  const url = () => /http:\/\/(?:127\.0\.0\.1|localhost):\d+/.exec(printed)?.[0];
  await expect.poll(() => url() ?? (child.exitCode === null ? undefined : printed), WAIT).toMatch(/^http:/);
  return { url: url()!, stop };
};

/**
 * Follow a guide in an empty folder: save each block that begins with the name of a file, and run each command.
 *
 * @param then  what a reader does once a server is up, by a word of its command. The server is stopped afterwards; others run until
 *   the end.
 */
const follow = async (guide: string, then: Readonly<Record<string, (url: string) => Promise<void>>>): Promise<void> => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-guide-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const visited: string[] = [];
  for (const block of blocks.filter(({ page }) => page === `docs/start/${guide}.md`)) {
    const code = withPorts(block.code).replace('PATH-TO-CLONE/tessera-id-0.1.0.tgz', inject('packed').tarball);
    const file = /^(?:\/\/|<!--) (\S+\.\w+)(?: -->)?\n/.exec(code)?.[1];
    if (file) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), code);
    } else if (block.language === 'sh')
      for (const command of code.trim().split('\n'))
        if (SERVES.test(command)) {
          const { url, stop } = await serve(command, folder);
          const word = Object.keys(then).find((one) => command.split(' ').includes(one));
          if (!word) continue;
          await then[word]!(url);
          visited.push(word);
          await stop();
        } else await promisify(exec)(command, { cwd: folder, env });
  }
  expect(visited).toEqual(Object.keys(then));
};

/** Open a page, and collect what it prints in the console. */
const open = async (url: string): Promise<{ page: Page; said: string[] }> => {
  const page = await (await openProfile()).newPage();
  const said: string[] = [];
  // An app of Next.js has no icon unless its author adds one.
  await page.route('**/favicon.ico', (route) => route.fulfill({ status: 204 }));
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(`${error}`));
  await page.goto(url, WAIT);
  return { page, said };
};
const shows = (page: Page, text: string) => expect.poll(() => page.textContent('body'), WAIT).toContain(text);

test('script tag, then single-page app: each page gets a token, and a logout ends it', async () => {
  // The development build until the page is published: then one word of the tag changes.
  expect(await readFile('docs/start/script-tag.md', 'utf8')).toContain(
    'Replace `/tessera.dev.js` in the tag by `/tessera.js`',
  );
  const isToken = (line: string) => line.startsWith('new token:');
  const [calls] = blocks.filter(({ page, code }) => page === 'docs/start/script-tag.md' && code.includes('signIn'));
  await follow('script-tag', {
    'server.mjs': async (url) => {
      // A request that `Request` refuses does not end the process. `fetch` would not send it.
      request(`${url}/token`, { method: 'TRACE' }, (response) => response.resume()).end();
      const { page, said } = await open(url);
      await expect.poll(() => said, WAIT).toContain('new token: 218 characters');
      expect((await fetch(`${url}/tessera.js`)).headers.get('content-type')).toBe('text/javascript');
      await page.reload();
      await expect.poll(() => said.filter(isToken).length, WAIT).toBe(2);
      await page.evaluate(`(async () => { ${calls!.code} })()`);
      expect(await page.evaluate('tessera.session.advertisingToken')).toBeUndefined();
      // Neither an error nor a warning, for example about an icon that the server does not have.
      expect(said.filter((line) => !isToken(line))).toEqual([]);
      await follow('spa', {
        vite: async (app) => {
          const { page, said } = await open(app);
          await shows(page, 'a token of 218 characters');
          expect(said.filter((line) => !line.startsWith('[vite]'))).toEqual([]);
        },
      });
    },
  });
}, 300_000);

test('webview: in the demo, a page in an app gets the token of the app, and a logout on the page ends it in the app', async () => {
  await follow('webview', {
    demo: async (url) => {
      const { page, said } = await open(`${url}/webview`);
      const token = page.frameLocator('#webview').locator('#token');
      await page.click('#sign-in');
      await expect.poll(() => token.textContent(), WAIT).not.toBe('no token');
      await page.frameLocator('#webview').locator('#sign-out').click();
      await expect.poll(() => page.textContent('#app-token'), WAIT).toBe('none');
      expect(said).toEqual([]);
    },
  });
});

test('Next.js, in development and as a build: the page shows a token, and none after a logout', async () => {
  const visit = async (url: string) => {
    const { page, said } = await open(url);
    await shows(page, 'There is a valid token.');
    await page.getByText('Log out').click();
    await shows(page, 'No token: host');
    await page.reload();
    await shows(page, 'There is a valid token.');
    expect(said.filter((line) => !/^\[(HMR|Fast Refresh)\]|React DevTools/.test(line))).toEqual([]);
  };
  await follow('nextjs', { dev: visit, start: visit });
}, 600_000);
