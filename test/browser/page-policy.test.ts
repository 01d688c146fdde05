/** The script tag under real conditions: strict policies, files of other origins, any order, more than one copy. */

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { serveSite } from '../support/browser.ts';
import { openPage, startOperator } from './publisher.ts';

const html =
  (body: string, headers: Record<string, string> = {}) =>
  () =>
    new Response(`<!doctype html><title>page</title>${body}`, {
      headers: { 'content-type': 'text/html; charset=utf-8', ...headers },
    });

const refreshed = (page: Page) =>
  page.waitForFunction(() => {
    const { session } = (window.tessera ?? {}) as { session?: { state: { refreshAt?: number } } };
    const { refreshAt } = session?.state ?? {};
    const seen = window as never as { first?: number };
    seen.first ??= refreshAt as number;
    return refreshAt && refreshAt > seen.first;
  });

/** What the browser has refused, as `directive: what`. Listened to by a file of the page's own: no inline script runs. */
const WATCH = `window.refused = []; addEventListener('securitypolicyviolation', (e) => refused.push(e.effectiveDirective + ': ' + e.blockedURI));`;
const watch = () => new Response(WATCH, { headers: { 'content-type': 'text/javascript' } });

test('the Inspector shows the session of a page that allows only its own scripts, and treats no text as markup', async () => {
  const { baseUrl, handler } = await startOperator();
  const policy = `default-src 'none'; script-src 'self'; connect-src 'self' ${baseUrl}; require-trusted-types-for 'script'`;
  const site = await serveSite({
    '/': html(
      `<body><script src="/watch.js"></script><script src="/tessera.js" data-base-url="${baseUrl}" data-provide="/token"></script><script async src="/tessera-inspector.js"></script>`,
      { 'content-security-policy': policy },
    ),
    '/watch.js': watch,
    '/token': handler,
  });
  const page = await openPage(`${site.origin}/`);
  const inspector = page.locator('tessera-inspector[docked]');
  await inspector.locator('svg .fresh').first().waitFor();
  await inspector.locator('summary').click();
  await inspector.locator('ol li', { hasText: 'Sign-in: provide' }).waitFor();
  expect(await inspector.locator('.keys').ariaSnapshot()).toContain('refresh token, and its end');
  expect(await inspector.evaluate((element) => getComputedStyle(element).position)).toBe('fixed');
  expect(await page.evaluate('window.refused')).toEqual([]);
});

test.each([
  ['tessera.js', { 'access-control-allow-origin': '*' }],
  ['tessera.full.js', {}],
])('%s works from another origin; tessera-noble.js needs a CORS header there', async (file, headers) => {
  const { baseUrl, handler } = await startOperator();
  const { readFile } = await import('node:fs/promises');
  const fromDist = async ({ url }: Request) =>
    new Response(await readFile(new URL(`../../dist${new URL(url).pathname}`, import.meta.url)), {
      headers: { 'content-type': 'text/javascript', ...headers },
    });
  const cdn = await serveSite({ [`/${file}`]: fromDist, '/tessera-noble.js': fromDist });
  const site = await serveSite({
    '/': html(`<script async src="${cdn.origin}/${file}" data-base-url="${baseUrl}" data-provide="/token"></script>`),
    '/token': handler,
  });
  await refreshed(await openPage(`${site.plainOrigin}/`));
  expect(cdn.requests.filter((request) => request === 'GET /tessera-noble.js')).toHaveLength(
    file === 'tessera.js' ? 1 : 0,
  );
});

const STUB =
  '<script>(window.tessera = window.tessera || []).push((t) => { window.pushed = (window.pushed || 0) + 1; });</script>';
const AD = `<script>
  window.tokens = [];
  (window.tessera = window.tessera || []).push(({ session }) => session.on('token', () => tokens.push(session.advertisingToken)));
</script>`;

const ORDERS = [
  ['stub', 'tag', 'ad'],
  ['tag', 'ad', 'stub'],
  ['ad', 'tag', 'stub'],
] as const;

test.each(['async', 'defer', ''])(
  'with <script %s>, the order of queue, tag and ad code makes no difference',
  async (how) => {
    const { baseUrl, handler } = await startOperator();
    const parts = {
      stub: STUB,
      tag: `<script ${how} src="/tessera.js" data-base-url="${baseUrl}" data-provide="/token"></script>`,
      ad: AD,
    };
    const site = await serveSite({
      ...Object.fromEntries(ORDERS.map((order, i) => [`/${i}`, html(order.map((part) => parts[part]).join(''))])),
      '/token': handler,
    });
    const pushed = ORDERS.map(async (_, i) => {
      const page = await openPage(`${site.origin}/${i}`);
      await page.waitForFunction('window.tokens.length >= 2');
      return page.evaluate('window.pushed');
    });
    expect(await Promise.all(pushed)).toEqual(ORDERS.map(() => 1));
  },
);
