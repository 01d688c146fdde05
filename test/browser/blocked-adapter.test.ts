/** A page whose content blocker blocks the adapter for Prebid: the code of docs/pages/script-tag.md still creates a session. */

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { blocks } from '../docs/blocks.ts';
import { openProfile, serveSite } from '../support/browser.ts';
import { startOperator } from './publisher.ts';

const ADAPTER = '/page/user-id-module.js';
const { code } = blocks.find((block) => block.page === 'docs/pages/script-tag.md' && block.code.includes(ADAPTER))!;

/** Open a page with the documented code, for a user who has consented; `prepare` runs before the page is loaded. */
const openDocumented = async (prepare: (page: Page) => Promise<unknown>) => {
  const { baseUrl, handler } = await startOperator();
  const documented = code
    .replace('https://operator.example', baseUrl)
    .replace('consent: tcfConsent()', 'consent: () => true');
  const site = await serveSite({ '/token': handler, '/': `<!doctype html><title>page</title>${documented}` });
  const page = await (await openProfile()).newPage();
  const thrown: Error[] = [];
  page.on('pageerror', (error) => thrown.push(error));
  await prepare(page);
  await page.goto(`${site.origin}/`);
  await page.waitForFunction('window.tessera?.session');
  return { page, thrown, site };
};

test('if the adapter is blocked, there is a session with a token, and no exception', async () => {
  const { page, thrown } = await openDocumented((opened) =>
    opened.route(`**${ADAPTER}`, (route) => route.abort('blockedbyclient')),
  );
  expect(await page.evaluate('tessera.session.getToken().then((token) => token.length)')).toBeGreaterThan(100);
  expect(await page.evaluate('window.pbjs')).toBeUndefined();
  expect(thrown).toEqual([]);
});

test('otherwise, the adapter is connected', async () => {
  const { page, thrown, site } = await openDocumented(async () => {});
  await page.waitForFunction('window.pbjs?.que.length');
  expect(site.requests).toContain(`GET ${ADAPTER}`);
  expect(thrown).toEqual([]);
});
