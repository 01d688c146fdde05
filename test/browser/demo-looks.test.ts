/**
 * The looks of each page of the demo (axe-core, no clipped or broken words, no sideways scrolling) wide and light, narrow and dark.
 * Screenshots are kept in test-output/demo/.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import axe from 'axe-core';
import type { Frame } from 'playwright-core';
import { expect, test } from 'vitest';
import { root } from '../../build/dist.ts';
import { PAGES } from '../../demo/pages.ts';
import { demo, open, profile, reports, shows } from './demo.ts';

/** Words that are cut off: elements whose text is wider than they are, and do not scroll. */
const CLIPPED = `[...document.querySelectorAll('body *')].filter((one) =>
  one.children.length === 0 && one.textContent.trim() && one.checkVisibility() &&
  one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== 'inline' && getComputedStyle(one).overflowX !== 'visible'
).map((one) => one.outerHTML.slice(0, 120))`;
/** Words that are broken across lines, also those of the Inspector. Code, tokens and addresses may break. */
const BROKEN = `[document, ...[...document.querySelectorAll('*')].map((one) => one.shadowRoot)].filter(Boolean).flatMap((root) => {
  const found = [];
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node; (node = texts.nextNode()); ) {
    if (node.parentElement?.closest('pre, code, script, style, .link') || !node.parentElement?.checkVisibility()) continue;
    for (const { 0: word, index } of node.data.matchAll(/\\p{L}+/gu)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) found.push(word);
    }
  }
  return found;
})`;
const SIDEWAYS = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

/** Two combinations, which differ in all. */
const LOOKS = [
  { width: 1280, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark' },
] as const;

/** What a page shows once it is complete. */
const COMPLETE: Readonly<Record<string, [selector: string, text: RegExp]>> = {
  '/': ['#phase', /fresh/],
  '/compare': ['#running', /Tessera.*Prebid/],
  '/script-tag': ['#phase', /fresh/],
  '/prebid': ['#phase', /fresh/],
  '/webview': ['#messages', /hello/],
  '/consent': ['#waiting', /consent/],
  '/advertiser': ['#mapped', /\d/],
  '/operator': ['#figures', /Tokens generated/],
  '/react': ['#phase', /fresh/],
  '/secure-signals': ['#collected', /^(?!nothing)/],
};

/** What is wrong with a frame of the demo as it looks now. */
const faultsOf = async (frame: Frame): Promise<string[]> => {
  const { violations } = await frame.evaluate<{ violations: axe.Result[] }>('axe.run({ iframes: false })');
  const clipped = await frame.evaluate<string[]>(CLIPPED);
  const isTooWide = (await frame.evaluate<number>(SIDEWAYS)) > 0;
  return [
    ...violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html.slice(0, 160)} ${nodes[0]!.failureSummary}`),
    ...clipped.map((html) => `clipped: ${html}`),
    ...(await frame.evaluate<string[]>(BROKEN)).map((word) => `broken word: ${word}`),
    ...(isTooWide ? [`${frame.url()} scrolls sideways`] : []),
  ];
};

test('every page, wide and light, narrow and dark: axe-core finds nothing, no word is clipped or broken, nothing scrolls sideways', async () => {
  const folder = `${root}test-output/demo`;
  await mkdir(folder, { recursive: true });
  await profile.request.post(`${demo.url}/sign-in`, { data: { email: 'reader@example.com' } });
  // A row of the dashboard's log with the longest words.
  const referer = `${demo.url}/compare/incumbent`;
  await profile.request.post(`${demo.operatorUrl}/v2/token/generate`, { headers: { referer }, data: '' });
  // And a page view without a token.
  const view = { version: 1, phase: 'empty', waitingFor: 'provide' };
  await profile.request.post(`${demo.url}/vitals`, { data: view });
  const found: string[] = [];
  for (const path of Object.keys(PAGES).filter((one) => !PAGES[one]!.isFrame)) {
    const page = await open(path);
    await shows(page, ...COMPLETE[path]!);
    if (path === '/') {
      await page.click('#refresh');
      await reports(page, /Token, refreshed here/);
    }
    for (const details of await page.locator('main details.code').all())
      await details.evaluate((one) => one.setAttribute('open', ''));
    // One frame of each page: the dashboard shows a page four times. Prebid makes empty frames of its own.
    const own = page.frames().filter((one) => one.url().startsWith(demo.url));
    const frames = [...new Map(own.map((one) => [new URL(one.url()).pathname, one])).values()];
    for (const frame of frames) await frame.evaluate(axe.source);
    for (const { width, colorScheme } of LOOKS) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      for (const frame of frames)
        found.push(...(await faultsOf(frame)).map((fault) => `${path} at ${width} px, ${colorScheme}: ${fault}`));
      if (path === '/' && width === 390) {
        const top = await page.evaluate<number>('document.getElementById("faults-title").getBoundingClientRect().top');
        if (top > 3 * 844) found.push(`"Make it fail" begins after three screens, at ${top} px`);
        if (await page.isVisible('thead')) found.push('the requests are a table');
      }
      const name = `${path === '/' ? 'dashboard' : path.slice(1)}-${width}-${colorScheme}.png`;
      await writeFile(`${folder}/${name}`, await page.screenshot({ fullPage: true }));
    }
    await page.close();
  }
  expect(found).toEqual([]);
}, 480_000);
