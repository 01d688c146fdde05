/**
 * The documentation site as it is published: it builds without a warning, no link is dead, and in a real Chromium it can be searched,
 * used by keyboard and read wide and light, narrow and dark (axe-core). Screenshots are kept in test-output/docs/.
 */

import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify, stripVTControlCharacters } from 'node:util';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { root } from '../../build/dist.ts';
import { openProfile } from '../support/browser.ts';

// `beforeAll` builds the site.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 900_000 });

const site = `${root}docs/.vitepress/dist`;
const screenshots = `${root}test-output/docs`;
const WAIT = { timeout: 60_000 };
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html',
  js: 'text/javascript',
  css: 'text/css',
  json: 'application/json',
};

let output: string;
let server: Server | undefined;
let origin: string;

const listening = async (on: Server): Promise<AddressInfo> => {
  await new Promise<void>((open) => on.listen(0, '127.0.0.1', open));
  return on.address() as AddressInfo;
};

beforeAll(async () => {
  const built = await promisify(execFile)('npm', ['run', 'docs:build'], {
    cwd: root,
    env: { ...process.env, NO_COLOR: '1' },
  });
  output = stripVTControlCharacters(built.stdout + built.stderr);
  await mkdir(screenshots, { recursive: true });
  server = createServer(({ url = '/' }, response) => {
    const path = decodeURIComponent(new URL(url, 'http://localhost').pathname).replace(/\/$/, '/index.html');
    if (!existsSync(site + path)) return response.writeHead(404).end();
    const type = TYPES[path.split('.').at(-1)!] ?? 'application/octet-stream';
    return response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(readFileSync(site + path));
  });
  const { port } = await listening(server);
  origin = `http://127.0.0.1:${port}`;
});
afterAll(() => {
  server?.closeAllConnections();
  server?.close();
});

describe('the build', () => {
  test('prints no warning', () => {
    // Of npm's own configuration, npm may warn.
    const lines = output.split('\n').filter((line) => !line.startsWith('npm '));
    expect(lines.filter((line) => /warn|error|\(!\)|dead link/i.test(line))).toEqual([]);
    expect(output).toContain('build complete');
  });

  test('no link is broken: every page, file and anchor of the site exists', () => {
    const files = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.html'));
    const pages = new Map(files.map((file) => [`/${file}`, readFileSync(`${site}/${file}`, 'utf8')]));
    expect(pages.size).toBeGreaterThan(50);
    const dead: string[] = [];
    for (const [from, html] of pages)
      for (const [, href = ''] of html.matchAll(/<a\b[^>]*\bhref="([^"]*)"/g)) {
        const { origin: of, pathname, hash } = new URL(href.replaceAll('&amp;', '&'), `http://site${from}`);
        if (of !== 'http://site') continue;
        const path = pathname.replace(/\/$/, '/index.html');
        const target = pages.get(path) ?? pages.get(`${path}.html`);
        const id = decodeURIComponent(hash.slice(1));
        if (target === undefined ? !existsSync(site + path) : id && !target.includes(`id="${id}"`))
          dead.push(`${from} -> ${href}`);
      }
    expect([...new Set(dead)]).toEqual([]);
  });

  test('the reference has a page for each entry point, and one for the command line with every command', () => {
    const folder = `${site}/reference`;
    expect(existsSync(`${folder}/tessera-id.html`)).toBe(true);
    for (const name of [
      'server',
      'operator',
      'mapping',
      'testing',
      'token',
      'react',
      'prebid',
      'operator/node',
      'server/node',
    ])
      expect([name, existsSync(`${folder}/tessera-id/${name}.html`)]).toEqual([name, true]);
    const commandLine = readFileSync(`${folder}/command-line.html`, 'utf8');
    for (const command of ['operator', 'keys', 'participants', 'map', 'doctor'])
      expect(commandLine).toContain(`id="tessera-${command}"`);
    expect(readFileSync(`${folder}/tessera-id.html`, 'utf8')).toContain('Create a session.');
  });
});

describe('in a browser', () => {
  const open = async (path: string) => {
    const profile = await openProfile();
    const page = await profile.newPage();
    await page.setViewportSize({ width: 1280, height: 800 });
    const thrown: Error[] = [];
    page.on('pageerror', (error) => thrown.push(error));
    await page.goto(origin + path);
    // The page is interactive once its script has run.
    await page.waitForFunction('document.querySelector("#app")?.__vue_app__', undefined, WAIT);
    return { page, thrown };
  };

  test('search by keyboard alone finds a page and opens it', async () => {
    const { page, thrown } = await open('/why.html');
    await page.keyboard.press('Control+k');
    const field = page.locator('#localsearch-input');
    await field.waitFor(WAIT);
    // At once: results of a part of it would open another page.
    await page.keyboard.insertText('root secret leaked');
    await page.locator('#localsearch-list li').first().waitFor(WAIT);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url(), WAIT).toMatch(/\/(operating\/(rotation|production))\.html/);
    expect(thrown).toEqual([]);
  });

  test('the keyboard reaches the content, the sidebar and the switch of colours', async () => {
    const { page } = await open('/pages/session.html');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent.trim()')).toBe('Skip to content');
    const seen: string[] = [];
    for (let presses = 0; presses < 60; presses += 1) {
      await page.keyboard.press('Tab');
      seen.push(
        await page.evaluate<string>(
          'document.activeElement.getAttribute("title") || document.activeElement.textContent.trim()',
        ),
      );
    }
    expect(seen).toEqual(expect.arrayContaining(['Why Tessera', 'Life of a token', 'Switch to dark theme']));
  });

  test('the live figure: a real session is refreshed, encounters a fault and signs out', async () => {
    const { page, thrown } = await open('/concepts/life.html');
    const phase = () => page.evaluate<string>('document.querySelector("tessera-inspector")?.session?.state.phase');
    await expect.poll(phase, WAIT).toBe('fresh');
    await page.getByLabel('The service').selectOption('503');
    await page.getByRole('button', { name: 'Refresh' }).click();
    await expect.poll(() => page.locator('.live-token > [role=status]').textContent(), WAIT).toContain('503');
    await page.getByLabel('The service').selectOption('none');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await expect.poll(phase, WAIT).toBe('empty');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect.poll(phase, WAIT).toBe('fresh');
    expect(thrown).toEqual([]);
    await page.screenshot({ path: `${screenshots}/live-figure.png` });
  });

  const violationsOf = async (page: Page): Promise<string[]> => {
    await page.evaluate(axe.source);
    const { violations } = await page.evaluate<{ violations: axe.Result[] }>('axe.run()');
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 3)
          .map(({ html }) => html)
          .join(' | ')}`,
    );
  };
  const NARROW = { size: { width: 390, height: 844 }, dark: true };
  const LOOKS = [{ size: { width: 1280, height: 800 }, dark: false }, NARROW];

  test.each([
    ['/', LOOKS],
    ['/concepts/life.html', LOOKS],
    ['/session-reference.html', LOOKS],
    ['/reference/command-line.html', [NARROW]],
  ])('%s, wide and light, narrow and dark: axe-core finds nothing, nothing scrolls sideways', async (path, looks) => {
    const { page, thrown } = await open(path);
    if (path.includes('life')) await page.locator('tessera-inspector').waitFor(WAIT);
    const name =
      path
        .replaceAll(/\/|\.html/g, ' ')
        .trim()
        .replaceAll(' ', '-') || 'home';
    for (const { size, dark } of looks) {
      const look = `${name}-${size.width}-${dark ? 'dark' : 'light'}`;
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' });
      await page.waitForFunction(`document.documentElement.classList.contains('dark') === ${dark}`, undefined, WAIT);
      await writeFile(`${screenshots}/${look}.png`, await page.screenshot());
      expect([look, await violationsOf(page)]).toEqual([look, []]);
      expect(await page.evaluate('document.documentElement.scrollWidth'), look).toBeLessThanOrEqual(size.width);
    }
    expect(thrown).toEqual([]);
  });
});
