/** The page of the demo that compares clients side by side. */

import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { root } from '../../build/dist.ts';
import { startDemo } from '../../demo/main.ts';
import { choose, open, profile, shows, text, WAIT } from './demo.ts';

test('side by side: under an outage, and after it; the reader of the other pages stays', async () => {
  const other = await open('/script-tag');
  const reader = () => other.evaluate(async () => (await fetch('/me')).text());
  const before = await reader();
  const page = await open('/compare');
  const frame = (name: string) => page.frameLocator(`iframe[title="${name}"]`).locator('#now');
  for (const name of ['Tessera', 'Prebid'])
    await expect.poll(() => frame(name).textContent(), WAIT).toBe('a valid token');
  await expect
    .poll(() => page.innerText('#clients'), WAIT)
    .toMatch(/Tessera, Prebid\.[\s\S]*TESSERA_INCUMBENT=uid2-sdk\.js npm run demo/);
  await choose(page, 'fault', '503');
  await page.click('[data-travel="3600000"]');
  await expect.poll(() => frame('Tessera').textContent(), WAIT).toBe('no token');
  await shows(page, '#counts', /Tessera: without a valid token[1-9]\d* sTessera: refreshes sent[1-9]/);
  await shows(page, '#counts', /Prebid: without a valid token[1-9]/);
  await choose(page, 'fault', 'none');
  await expect.poll(() => frame('Tessera').textContent(), WAIT).toBe('a valid token');
  expect(await reader()).toBe(before);
});

test('side by side: the pause after a refusal is shown, and "Refresh now" ends it; the other pages have another operator', async () => {
  const other = await open('/');
  const page = await open('/compare');
  await shows(page, '#counts', /Tessera: refreshes sent/);
  await choose(page, 'fault', 'malformed');
  await shows(page, '#counts', /Tessera: refreshes sent[3-9]/);
  await choose(page, 'fault', 'none');
  await shows(page, '#pause-text', /^Tessera: The next attempt is in \d+ s \(the service refused the set\)/);
  await page.click('#refresh-now');
  await shows(page, '#done', 'There is a new token.');
  expect(await text(other, '#requests')).toBe('');
});

test.each<[what: string, answer: { status: number; json?: object }, said: string]>([
  ['an error of the server', { status: 502, json: { message: 'The server has failed.' } }, 'The server has failed.'],
  ['a signed-out reader', { status: 204 }, 'nobody is signed in'],
])('side by side: %s is shown as such in the frame of Prebid', async (_, answer, said) => {
  await profile.route('**/compare/token', (route) => route.fulfill(answer));
  const page = await open('/compare');
  const frame = page.frameLocator('iframe[title="Prebid"]');
  await expect.poll(() => frame.locator('#now').textContent(), WAIT).toBe(said);
  expect(await frame.locator('h1').textContent()).toBe('Prebid');
});

test('side by side: the recorded figures are shown, each with its scenario and client', async () => {
  const page = await open('/compare');
  const { rows, clients, date } = JSON.parse(await readFile(`${root}demo/page/recorded.json`, 'utf8'));
  await expect
    .poll(() => page.locator('#recorded h3').allTextContents(), WAIT)
    .toEqual(rows.map(({ title }: { title: string }) => title));
  const expected = clients.map(({ label }: { label: string }, index: number) => `${label}${rows[0].values[index]} `);
  expect(await text(page, '#recorded .bars')).toBe(expected.join(''));
  expect(await text(page, '#recorded-with')).toContain(date);
});

test('side by side: with a script of the same interface, three clients run', async () => {
  const other = await startDemo({ port: 0, incumbent: `${root}dist/tessera-uid2.js` });
  onTestFinished(() => other.close());
  const page = await open('/compare', profile, other);
  await shows(page, '#running', 'Tessera, Prebid, UID2 JavaScript SDK');
  expect(await page.isVisible('#no-incumbent')).toBe(false);
  for (const name of ['Tessera', 'Prebid', 'UID2 JavaScript SDK']) {
    const now = page.frameLocator(`iframe[title="${name}"]`).locator('#now');
    await expect.poll(() => now.textContent(), WAIT).toBe('a valid token');
  }
});

test('side by side: a script that is not the UID2 JavaScript SDK is reported in its frame', async () => {
  const other = await startDemo({ port: 0, incumbent: `${root}dist/tessera-inspector.js` });
  onTestFinished(() => other.close());
  const page = await open('/compare', profile, other);
  const now = page.frameLocator('iframe[title="UID2 JavaScript SDK"]').locator('#now');
  await expect.poll(() => now.textContent(), WAIT).toContain('undefined');
});
