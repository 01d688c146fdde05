/** The dashboard of the demo: what it promises to show, by keyboard where a visitor may have nothing else. */

import { expect, test } from 'vitest';
import { choose, demo, open, report, reports, shows, signIn, text, WAIT } from './demo.ts';

test('by keyboard alone: sign in, open the list of the Inspector, choose a fault, sign out', async () => {
  const page = await open('/');
  const focused = () => page.evaluate<string>('document.activeElement.id || document.activeElement.textContent.trim()');
  const tabTo = async (name: string) => {
    for (let presses = 0; (await focused()) !== name; presses++) {
      expect(presses).toBeLessThan(60);
      await page.keyboard.press('Tab');
    }
  };
  await page.waitForSelector('#sign-in:not([hidden])');
  await tabTo('email');
  await page.keyboard.press('Enter');
  await shows(page, '#phase', 'fresh');
  await page.waitForSelector('#facts', { state: 'visible' });
  // Focus is on what took the place of the form.
  await expect.poll(focused, WAIT).toBe('sign-out');
  await page.locator('tessera-inspector summary').focus();
  await page.keyboard.press('Enter');
  await page.locator('tessera-inspector ol li', { hasText: 'Sign-in' }).waitFor();
  await page.locator('input[name=fault][value=none]').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.locator('#refresh').focus();
  await page.keyboard.press('Enter');
  await reports(page, /failed, http_status 503/);
  await page.locator('#sign-out').focus();
  await page.keyboard.press('Enter');
  await shows(page, '#phase', 'empty');
  await expect.poll(focused, WAIT).toBe('email');
  await page.waitForSelector('#facts', { state: 'hidden' });
  await reports(page, /Sign-out/);
});

test('four tabs share one refresh, and each has a lane in the timeline', async () => {
  const page = await open('/');
  await signIn(page);
  await reports(page, /Tab \w+ \(Tab 4\)/);
  await page.click('#expire');
  await reports(page, /Token, from another tab|Token, refreshed here/);
  await expect.poll(async () => (await report(page)).match(/\(Tab \d\)/g)?.length, WAIT).toBe(4);
  // The sign-in, and one refresh for all: a second one follows ten seconds later.
  await expect.poll(() => page.locator('#requests tr', { hasText: 'refresh' }).count(), WAIT).toBe(1);
  const tails = async () => Promise.all(page.frames().map((frame) => frame.locator('#token').textContent()));
  await expect.poll(async () => new Set(await tails()).size, WAIT).toBe(1);
  for (const held of await tails()) expect(await report(page)).not.toContain(held!.slice(-8));
});

const faults: [fault: string, failure: RegExp, pause: string][] = [
  ['503', /failed, http_status 503/, 'pause after a failure'],
  ['429', /failed, http_status 429[\s\S]*the service asked for a pause/, 'the service asked for a pause'],
  ['malformed', /failed, malformed_response/, 'the service refused the set'],
  ['wrong-key', /failed, (decrypt_failed|malformed_response)/, 'the service refused the set'],
];
test.each(faults)(
  '%s: the timeline says so, then why it pauses; the session recovers',
  async (fault, failure, pause) => {
    const page = await open('/');
    await signIn(page);
    await choose(page, 'fault', fault);
    await page.click('#expire');
    await reports(page, failure);
    await choose(page, 'fault', 'none');
    await shows(page, '#pause-text', new RegExp(`^The next attempt is in \\d+ s \\(${pause}\\)`));
    if (fault !== '429') {
      await page.click('#refresh-now');
      await shows(page, '#done', 'There is a new token.');
      return;
    }
    // No session shortens a pause that the operator has asked for. By the refresh token's end the publisher brings a new set.
    expect(await page.isVisible('#refresh-now')).toBe(false);
    await page.click('#end');
    await shows(page, '#done', 'Travelled past');
    await reports(page, /New set: provide|Token, from the publisher/);
    await shows(page, '#phase', /fresh|due/);
  },
);

test('offline: the timeline says so; back online, the session tries again by itself', async () => {
  const page = await open('/');
  await signIn(page);
  await page.evaluate(
    "for (const type of ['offline', 'online']) addEventListener(type, () => (document.title = type))",
  );
  await choose(page, 'fault', 'offline');
  await expect.poll(() => page.title(), WAIT).toBe('offline');
  expect(await page.evaluate('navigator.onLine')).toBe(false);
  await page.click('#expire');
  await reports(page, /failed, network/);
  await choose(page, 'fault', 'none');
  await expect.poll(() => page.title(), WAIT).toBe('online');
  await shows(page, '#phase', 'fresh');
});

test('the next attempt is shown here too if another tab has failed', async () => {
  const page = await open('/');
  await signIn(page);
  await choose(page, 'fault', 'malformed');
  const frame = page.frame({ url: /label=Tab%202/ })!;
  await frame.evaluate('document.querySelector("tessera-inspector").session.refresh().catch(() => {})');
  await choose(page, 'fault', 'none');
  await shows(page, '#pause-text', /^The next attempt is in \d+ s \(the service refused the set\)/);
  expect(await page.isVisible('#pause')).toBe(true);
});

test('the tabs of two windows have lanes of different names, and the log of the operator has those names', async () => {
  await open('/');
  const second = await open('/');
  await reports(second, /\(Tab 5\), this one/);
  await expect
    .poll(
      async () =>
        (await report(second))
          .match(/\(Tab \d\)/g)
          ?.sort()
          .join(),
      WAIT,
    )
    .toBe([1, 2, 3, 4, 5, 6, 7, 8].map((number) => `(Tab ${number})`).join());
  await signIn(second);
  await second.click('#refresh');
  await expect.poll(() => second.locator('#requests tr', { hasText: /Tab 5\s*token\/refresh/ }).count(), WAIT).toBe(1);
});

test('a day passes at once, the clock is wrong, the operator has a new root: there is a token again each time', async () => {
  const page = await open('/');
  await signIn(page);
  for (const step of ['[data-travel="86400000"]', '#expire', '#restart']) {
    const before = await text(page, '#token');
    await page.click(step);
    if (step === '#restart') await page.click('#refresh');
    await expect.poll(() => text(page, '#token'), WAIT).not.toBe(before);
    await expect.poll(() => text(page, '#token'), WAIT).not.toBe('none');
  }
  await choose(page, 'skewMs', '3600000');
  await reports(page, /clock -?3\d{3} s off/);
  await shows(page, '#phase', /fresh|due/);
});

test('storage refused and a full disk: the session continues in memory', async () => {
  const page = await open('/');
  await signIn(page);
  await choose(page, 'storage', 'refused');
  await reports(page, /Tab 1\), this one: phase \w+, stored in memory/);
  await shows(page, '#phase', /fresh|due/);
  // The form to sign in is there a moment before the page loads again.
  await Promise.all([page.waitForEvent('load'), page.click('#start-over')]);
  await page.waitForSelector('#sign-in:not([hidden])');
  await signIn(page);
  await choose(page, 'storage', 'full');
  await page.click('#refresh');
  await reports(page, /Storage: memory/);
  await shows(page, '#phase', /fresh|due/);
});

test('"Start over" forgets an opt-out, in all tabs', async () => {
  const page = await open('/');
  await signIn(page);
  await page.click('#opt-out');
  await shows(page, '#phase', 'opted out');
  await Promise.all([page.waitForEvent('load'), page.click('#start-over')]);
  const phases = () => Promise.all(page.frames().map((frame) => frame.locator('#phase').textContent()));
  await expect.poll(phases, WAIT).toEqual(['empty', 'empty', 'empty', 'empty']);
});

test('what is chosen to fail is told on every page, until the visitor ends it or closes the last page', async () => {
  const page = await open('/');
  await choose(page, 'fault', '503');
  const other = await open('/script-tag');
  await shows(other, '#in-force', 'Chosen to fail: the operator answers 503.');
  await choose(page, 'storage', 'full');
  await shows(other, '#in-force', "the operator answers 503, the reader's disk is full.");
  await other.click('#in-force button');
  await page.waitForSelector('#in-force', { state: 'hidden' });
  expect(await page.isChecked('input[name=fault][value=none]')).toBe(true);
  await choose(page, 'fault', '429');
  await page.waitForSelector('#in-force:not([hidden])');
  await page.close();
  await other.reload();
  await shows(other, '#in-force', 'Chosen to fail: the operator answers 429.');
  await other.close();
  const later = await open('/script-tag');
  await later.waitForSelector('#in-force', { state: 'hidden' });
  await expect
    .poll(() => later.evaluate(async () => (await (await fetch('/demo/setting')).json()).fault), WAIT)
    .toBe('none');
});

test('vitals: page views of the script tag are counted, with their share with a token, and why the others had none', async () => {
  const page = await open('/');
  const tag = await open('/script-tag');
  await shows(tag, '#phase', 'empty');
  await tag.reload();
  await shows(page, '#views', /^Page views1With a token0 %Time to the token, median-$/);
  await shows(page, '#reasons', /^Without: nobody is signed in1$/);
  await signIn(tag);
  await tag.goto(`${demo.url}/operator`);
  await shows(page, '#views', /^Page views2With a token50 %Time to the token, median\d+ ms$/);
  // A return visit, and a dashboard that is loaded again.
  await tag.goto(`${demo.url}/script-tag`);
  await shows(tag, '#phase', /fresh|due/);
  await tag.close({ runBeforeUnload: true });
  await shows(page, '#views', /^Page views3With a token67 %/);
  await page.reload();
  await shows(page, '#views', /^Page views3With a token67 %/);
});

test('each tab says what its session has and does next, before a sign-in and after', async () => {
  const page = await open('/');
  const said = async () => Promise.all(page.frames().map((frame) => frame.locator('#meaning').textContent()));
  const signInFirst =
    'There is no token. Next, the session will wait until a user has signed in and your page calls signIn.';
  await expect.poll(said, WAIT).toEqual(Array.from({ length: 4 }, () => signInFirst));
  await signIn(page);
  await expect
    .poll(async () => new Set((await said()).map((text) => text?.slice(0, 22))), WAIT)
    .toEqual(new Set(['There is a valid token']));
});
