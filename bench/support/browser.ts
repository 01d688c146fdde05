/** The browser of the benchmarks. */

import { type Browser, chromium } from 'playwright-core';
import { launchOptions } from '../../test/support/chromium.ts';

/**
 * Flags of Playwright that switch off timer throttling. They are removed here, because users have throttling: if Chromium
 * throttled a visible page, the benchmarks would have to show it.
 */
const PLAYWRIGHT_ONLY = [
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
];

/** Start the browser. `engine` is its name and version. */
export const launchBrowser = async (): Promise<{ readonly browser: Browser; readonly engine: string }> => {
  const options = await launchOptions({ ignoreDefaultArgs: PLAYWRIGHT_ONLY });
  const browser = await chromium.launch(options);
  const isShell = options.executablePath?.includes('headless-shell');
  return { browser, engine: `Chromium ${isShell ? 'headless shell ' : ''}${browser.version()}` };
};
