/**
 * A real Firefox for tests: the one in the environment variable FIREFOX, or an installed one, driven by puppeteer-core over BiDi.
 */

import puppeteer from 'puppeteer-core';
import { PLAIN_HOST } from './chromium.ts';
import type { EngineKind } from './engine.ts';
import { firstThatRuns } from './files.ts';
import { tabOf } from './puppeteer.ts';

const INSTALLED = [
  '/usr/bin/firefox-esr',
  '/usr/bin/firefox',
  '/snap/bin/firefox',
  '/Applications/Firefox.app/Contents/MacOS/firefox',
  'C:\\Program Files\\Mozilla Firefox\\firefox.exe',
];

const PREFERENCES = {
  'network.dns.localDomains': PLAIN_HOST,
  // The driver switches this off, so that all file: URLs share storage. Users have it on.
  'security.fileuri.strict_origin_policy': true,
};

const find = () => firstThatRuns(process.env['FIREFOX'] ? [process.env['FIREFOX']] : INSTALLED);

export const firefox: EngineKind = {
  name: 'firefox',
  missing: async () => ((await find()) ? undefined : 'firefox-esr'),
  launch: async () => {
    const browser = await puppeteer.launch({
      browser: 'firefox',
      executablePath: (await find())!,
      extraPrefsFirefox: PREFERENCES,
    });
    return {
      version: (await browser.version()).replace(/^\w+\//, ''),
      pid: browser.process()!.pid!,
      open: async () => tabOf(await browser.newPage({ type: 'window' })),
      close: () => browser.close(),
    };
  },
};
