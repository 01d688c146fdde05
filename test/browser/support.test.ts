import { expect, test } from 'vitest';
import { openProfile, serveSite } from '../support/browser.ts';

test('a page on a loopback address is a secure context, one on the plain host is not', async () => {
  const site = await serveSite({ '/': '<!doctype html><title>origin</title>' });
  const page = await (await openProfile()).newPage();
  const seen = () => page.evaluate(() => [isSecureContext, 'subtle' in crypto, 'locks' in navigator]);

  await page.goto(`${site.origin}/`);
  expect(await seen()).toEqual([true, true, true]);

  await page.goto(`${site.plainOrigin}/`);
  expect(await seen()).toEqual([false, false, false]);

  expect(site.requests.filter((request) => request === 'GET /')).toHaveLength(2);
});
