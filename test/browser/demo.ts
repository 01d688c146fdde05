/** What the tests of the demo share: one demo for each test file, a new profile for each test, and what a visitor does and sees. */

import type { BrowserContext, Page } from 'playwright-core';
import { beforeAll, beforeEach, expect, onTestFinished, vi } from 'vitest';
import { INSTALL_MS, install } from '../../build/packages.ts';
import { type Demo, startDemo } from '../../demo/main.ts';
import { openProfile } from '../support/browser.ts';

export const WAIT = { timeout: 60_000 };
// Four pages with a session each.
vi.setConfig({ testTimeout: 240_000 });

export let demo: Demo;
export let profile: BrowserContext;
beforeAll(async () => {
  await install('demo/prebid');
  demo = await startDemo({ port: 0, incumbent: '' });
  return () => demo.close();
}, INSTALL_MS);
beforeEach(async () => {
  for (const path of ['/demo', '/compare/demo']) await fetch(`${demo.url}${path}/start-over`, { method: 'POST' });
  profile = await openProfile();
});

/** Open a page of the demo; an uncaught error on it fails the test. */
export const open = async (path: string, in_ = profile, { url } = demo): Promise<Page> => {
  const page = await in_.newPage();
  const thrown: Error[] = [];
  page.on('pageerror', (error) => thrown.push(error));
  onTestFinished(() => expect(thrown).toEqual([]));
  await page.goto(url + path);
  return page;
};

export const text = (page: Page, selector: string) => page.locator(selector).first().textContent();
export const shows = (page: Page, selector: string, expected: string | RegExp) =>
  expect.poll(() => text(page, selector), WAIT).toMatch(expected);
export const signIn = async (page: Page) => {
  await page.click('#sign-in button[type=submit]');
  await shows(page, '#phase', 'fresh');
};
/** Choose a fault in the dashboard. Its radio buttons are hidden behind their labels, so no position of theirs is clicked. */
export const choose = (page: Page, name: string, value: string) =>
  page.locator(`input[name=${name}][value="${value}"]`).dispatchEvent('click');
export const report = (page: Page) => page.evaluate<string>('document.querySelector("tessera-inspector").report');
export const reports = (page: Page, expected: RegExp) => expect.poll(() => report(page), WAIT).toMatch(expected);
