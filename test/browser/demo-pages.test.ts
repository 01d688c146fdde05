/** The pages of the demo for each use: what each promises to show. */

import { expect, test } from 'vitest';
import { open, profile, reports, shows, signIn, text, WAIT } from './demo.ts';

test('script tag: the list of events shows the sign-out, and the timeline opens from its script file', async () => {
  const page = await open('/script-tag');
  await signIn(page);
  await page.click('#inspect');
  await page.waitForSelector('tessera-inspector[docked]');
  await reports(page, /Token/);
  await page.locator('tessera-inspector').locator('[data-do=close]').click();
  await page.click('#sign-out');
  await shows(page, '#events', /signed out/);
});

test('script tag: without a server, a reader who cannot sign out is still shown as signed in', async () => {
  const page = await open('/script-tag');
  await signIn(page);
  await profile.setOffline(true);
  const asked = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/me'));
  await page.click('#sign-out');
  await asked;
  await shows(page, '#problem', 'cannot be reached');
  expect(await page.isVisible('#sign-out')).toBe(true);
});

test('Prebid: the bid request has the token in force, before and after a refresh', async () => {
  const page = await open('/prebid');
  await signIn(page);
  const auction = async () => {
    await page.click('#auction');
    await shows(page, '#same', /It is/);
    return text(page, '#same');
  };
  for (let round = 0; round < 2; round++) {
    // A refresh may fall into the auction, after which another token is in force.
    await expect.poll(auction, WAIT).toBe('It is the current token.');
    expect(await text(page, '#eids')).toContain('uidapi.com');
    const before = await text(page, '#token');
    await page.click('#refresh');
    await expect.poll(() => text(page, '#token'), WAIT).not.toBe(before);
  }
});

test.each(['tcf', 'gpp'])(
  'consent by %s: nothing before the answer, a token after a yes, nothing left after a no',
  async (framework) => {
    const page = await open(`/consent?framework=${framework}`);
    await shows(page, '#waiting', 'consent');
    await shows(page, '#databases', 'none of this session');
    await page.click('#accept');
    await shows(page, '#waiting', 'nothing');
    await page.click('#sign-in-now');
    await shows(page, '#phase', 'fresh');
    await page.click('#refuse');
    await shows(page, '#phase', 'empty');
    await shows(page, '#waiting', 'consent');
  },
);

// One test, because the counts are those of all lists that a demo has mapped, and a database of a demo takes seconds to create.
test('advertiser: a list is mapped, and after a year all of it is due; a file is read as by the command, and what is wrong is said', async () => {
  const page = await open('/advertiser');
  await page.click('#sample');
  // PGlite starts first.
  await expect.poll(() => text(page, '#said'), { timeout: 150_000 }).toMatch(/997 mapped.*1 opted out, 1 not valid/);
  await shows(page, '#due-count', /^0$/);
  await page.click('[data-travel="31536000000"]');
  await shows(page, '#due-count', /^997$/);
  await page.click('#map-due');
  await shows(page, '#said', /997 mapped/);
  await shows(page, '#due-count', /^0$/);
  await shows(page, '#rotated', /^[1-9]/);

  const upload = (...lines: string[]) =>
    page.setInputFiles('#file', { name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(lines.join('\n')) });
  await upload('name;E-Mail Address', 'Ann;ann@example.com', '"Bo; Jr";bo@example.com', 'Cy;', 'Di;nothing', 'Ed;none');
  await shows(page, '#said', /2 mapped.*3 not valid/);
  expect(await page.locator('#reasons li').allTextContents()).toEqual([
    '1 row (line 4): expected a value, got none',
    '2 rows (first line 5): expected an email address',
  ]);
  await upload('name,age', 'Ann,40');
  await shows(page, '#said', /^--column: expected one column with a known name .*name the column email, phone/);
  // A server that is stopped lets a job end first, so the broken connection is a fake.
  await page.evaluate(`{
    const body = new ReadableStream({ start: (stream) => stream.error(new TypeError('network error')) });
    const { fetch } = window;
    window.fetch = (path, init) => (path === '/advertiser/map' ? Promise.resolve(new Response(body)) : fetch(path, init));
  }`);
  await page.click('#sample');
  await shows(page, '#said', 'The connection to the server ended before the job did.');
});

test('operator: the metrics count what the other pages do', async () => {
  await signIn(await open('/script-tag'));
  const page = await open('/operator');
  await shows(page, '#figures', /Tokens generated[1-9]/);
  await shows(page, '#answers', 'v2/token/generate: 200 success');
  expect(await text(page, '#answers')).not.toContain('metrics');
});

test('React: signs in and out', async () => {
  const page = await open('/react');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await shows(page, '#phase', 'fresh');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await shows(page, '#phase', 'empty');
});

test('Secure Signals: the mock collects the token, and a sign-out clears its cache', async () => {
  const page = await open('/secure-signals');
  await shows(page, '#provider', 'uidapi.com');
  await signIn(page);
  // The session refreshes its token every ten seconds.
  const held = new Set<string | null>();
  const isCollected = async () => held.add(await text(page, '#token')).has(await text(page, '#collected'));
  await expect.poll(isCollected, WAIT).toBe(true);
  await page.click('#sign-out');
  await shows(page, '#cleared', /[1-9] times/);
});
