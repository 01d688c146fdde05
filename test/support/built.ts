/** Before tests that use what is built: an up-to-date `dist/` and one Chromium for all of them. */

import { chromium } from 'playwright-core';
import type { TestProject } from 'vitest/node';
import { ensureDist } from '../../build/dist.ts';
import { launchShared } from './chromium.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where playwright-core finds the shared browser: see `openBrowser`. */
    chromiumAt: string;
  }
}

export default async ({ provide }: TestProject): Promise<() => Promise<void>> => {
  await ensureDist();
  const server = await launchShared();
  provide('chromiumAt', server.wsEndpoint());
  const browser = await chromium.connect(server.wsEndpoint());
  const engines = [`chromium ${browser.version()}`];
  await browser.close();
  return async () => {
    await server.close();
    console.log(`engines: ${engines.join(', ')}`);
  };
};
