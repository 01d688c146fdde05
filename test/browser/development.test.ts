/** `tessera.dev.js` in a real page: what it says about mistakes that a page sees nothing of. */

import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { openProfile, serveSite } from '../support/browser.ts';
import { startOperator } from './publisher.ts';

declare global {
  interface Window {
    said: string[];
  }
}

/** A page that keeps what the console is told, and the errors of the session. */
const PAGE = `
  window.said = [];
  const { warn } = console;
  console.warn = (text) => { said.push(text); warn(text); };
  (window.tessera = window.tessera || []).push((t) => t.session?.on('error', (e) => said.push(e.code + ': ' + e.message)));`;

const open = async (tag: string, headers: Record<string, string>, token: (request: Request) => Promise<Response>) => {
  const site = await serveSite({
    '/': () =>
      new Response(`<!doctype html><title>page</title><script src="/page.js"></script>${tag}`, {
        headers: { 'content-type': 'text/html', ...headers },
      }),
    '/page.js': () => new Response(PAGE, { headers: { 'content-type': 'text/javascript' } }),
    '/token': token,
  });
  const page = await (await openProfile()).newPage();
  onTestFinished(() => page.close());
  await page.goto(`${site.origin}/`);
  return page;
};
const saidOn = (page: Page) => page.evaluate(() => [...new Set(window.said)].sort());
const DOCS = 'https://github.com/tessera-id/tessera/blob/main/docs/errors.md';

test('the console reports a policy that blocks the operator, and the error points to the console', async () => {
  const { baseUrl, handler, asked } = await startOperator();
  const page = await open(
    `<script async src="/tessera.dev.js" data-base-url="${baseUrl}" data-provide="/token"></script>`,
    { 'content-security-policy': "default-src 'none'; script-src 'self'; connect-src 'self'" },
    handler,
  );
  // The report of the policy and the failure of the request come in either order, and again at each attempt.
  for (const start of ['network', '[tessera] this', '[tessera] refresh'])
    await page.waitForFunction((start) => window.said.some((text) => text.startsWith(start)), start);
  const origin = new URL(page.url()).origin;
  const reason = `the service cannot be reached, or it does not permit pages on ${origin} (CORS), or this page's Content Security Policy blocks it: see the console`;
  const message = `refresh: no answer to POST ${baseUrl}/v2/token/refresh; ${reason}`;
  expect(await saidOn(page)).toEqual([
    `[tessera] ${message} (${DOCS}#network)`,
    `[tessera] this page's Content Security Policy blocks the operator: add ${baseUrl} to connect-src (${DOCS}#network)`,
    `network: ${message}`,
  ]);
  expect(asked).toEqual(['POST /v2/token/generate']);
});
