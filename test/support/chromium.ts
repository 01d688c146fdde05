/**
 * A real Chromium for tests: the one that the environment variable CHROMIUM names, an installed one, or the one in the
 * devDependency `@sparticuz/chromium`, with flags that switch off background network traffic.
 *
 * Most tests prefer Chromium's headless shell, which has the same engine and no windows: opening a window takes a second of CPU, a
 * page of the shell a tenth. Debian packages it.
 *
 * Most tests drive it with playwright-core. Tests that run in several engines use puppeteer-core, which also drives Firefox,
 * because playwright-core emulates focus in every tab, so that none is ever hidden or frozen.
 */

import { mkdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserServer, type LaunchOptions, chromium as playwright } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import type { EngineKind } from './engine.ts';
import { firstThatRuns } from './files.ts';
import { tabOf } from './puppeteer.ts';

const HEADLESS_SHELL = '/usr/bin/chromium-headless-shell';
const INSTALLED = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/** A host name for loopback that is not a secure origin: a page there has no Web Crypto and no Web Locks. */
export const PLAIN_HOST = 'example.test';

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`,
];

/**
 * Unpack the devDependency's browser, into one folder per version, because it uses any file of the right name in the temporary
 * folder, whatever its version. Its own `args` switch web security off and are not used.
 */
const unpacked = async (): Promise<string> => {
  const manifest = new URL('../../node_modules/@sparticuz/chromium/package.json', import.meta.url);
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  const TMPDIR = join(tmpdir(), `tessera-chromium-${version}`);
  await mkdir(TMPDIR, { recursive: true });
  const before = process.env['TMPDIR'];
  process.env['TMPDIR'] = TMPDIR;
  try {
    return await (await import('@sparticuz/chromium')).default.executablePath();
  } finally {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  }
};

const find = async (paths: readonly string[]): Promise<string> => {
  const named = process.env['CHROMIUM'];
  if (!named) return (await firstThatRuns(paths)) ?? unpacked();
  if (await firstThatRuns([named])) return named;
  throw new Error(`CHROMIUM: expected the path of an executable file, got ${named}`);
};

/** Find the path of the browser that users have: the headless shell has no back/forward cache, for example. */
export const findWholeChromium = (): Promise<string> => find(INSTALLED);

/** Return the options to start it with. `more` adds `args` or other options for a test with its own browser. */
export const launchOptions = async (more: LaunchOptions = {}): Promise<LaunchOptions> => ({
  executablePath: await find([HEADLESS_SHELL, ...INSTALLED]),
  headless: true,
  ...more,
  args: [...ARGS, ...(more.args ?? [])],
});

export const launchShared = async (): Promise<BrowserServer> =>
  playwright.launchServer({ ...(await launchOptions()), host: '127.0.0.1' });

/** Switches that puppeteer-core sets and that users do not have. */
const PUPPETEER_ONLY = [
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
];

export const chromium: EngineKind = {
  name: 'chromium',
  // A devDependency contains one, so none is missing.
  missing: async () => undefined,
  launch: async () => {
    const browser = await puppeteer.launch({
      executablePath: await findWholeChromium(),
      args: ARGS,
      ignoreDefaultArgs: PUPPETEER_ONLY,
    });
    return {
      version: (await browser.version()).replace(/^\w+\//, ''),
      pid: browser.process()!.pid!,
      open: async () => {
        const page = await browser.newPage({ type: 'window' });
        const wire = await page.createCDPSession();
        return {
          ...tabOf(page),
          crash: async () => {
            const crashed = new Promise((resolve) => page.once('error', resolve));
            // The crashed process never answers the command.
            wire.send('Page.crash').catch(() => {});
            await crashed;
          },
          setFrozen: async (frozen) => {
            await wire.send('Page.setWebLifecycleState', { state: frozen ? 'frozen' : 'active' });
            if (!frozen) await page.bringToFront();
          },
        };
      },
      close: () => browser.close(),
    };
  },
};
