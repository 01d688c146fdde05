/**
 * `npm run picture`: draws the pictures of the README: who calls whom, and the Inspector, from the demo in a real Chromium: a sign-in,
 * a refresh, an outage, and what follows it.
 */

import { writeFile } from 'node:fs/promises';
import { chromium } from 'playwright-core';
import { startDemo } from '../demo/main.ts';
import { launchOptions } from '../test/support/chromium.ts';
import { drawCalls, VARIANTS } from './calls.ts';

for (const [name, colours] of Object.entries(VARIANTS)) await writeFile(`docs/calls-${name}.svg`, drawCalls(colours));
const demo = await startDemo({ port: 0, incumbent: '' });
const browser = await chromium.launch(await launchOptions());
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1200 } });
  await page.goto(demo.url);
  const says = (text: string) =>
    page.locator('tessera-inspector').getByText(text, { exact: true }).first().waitFor({ state: 'attached' });
  await page.click('#sign-in button[type=submit]');
  await says('refreshed here');
  await page.locator('input[name=fault][value="503"]').check({ force: true });
  await says('503');
  await page.locator('input[name=fault][value=none]').check({ force: true });
  await page.click('#refresh');
  await page.waitForTimeout(12_000);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.locator('tessera-inspector').evaluate((element) => element.scrollIntoView({ block: 'center' }));
    const { x, y, width, height } = (await page.locator('tessera-inspector').boundingBox())!;
    const clip = { x: x - 12, y: y - 12, width: width + 24, height: height + 24 };
    await page.screenshot({ path: `docs/inspector-${colorScheme}.png`, clip });
  }
} finally {
  await browser.close();
  await demo.close();
}
