/** The dashboard of the demo: what it promises to show, by keyboard where a visitor may have nothing else. */

import { expect, test } from 'vitest';
import { choose, open, report, reports, shows, signIn, text, WAIT } from './demo.ts';

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
  ['503', /failed, http_status 503/, 'the session pauses after failures'],
  ['429', /failed, http_status 429[\s\S]*retry_after/, 'the operator has asked for a pause'],
  ['malformed', /failed, malformed_response/, 'the session pauses after a refusal'],
  ['wrong-key', /failed, (decrypt_failed|malformed_response)/, 'the session pauses after a refusal'],
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
    await shows(page, '#pause-text', new RegExp(`^The next attempt is in \\d+ s: ${pause}`));
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
  await shows(page, '#pause-text', /^The next attempt is in \d+ s: the session pauses after a refusal/);
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

test('a reader who has opted out stays so; another one can sign in', async () => {
  const page = await open('/');
  await signIn(page);
  await page.click('#opt-out');
  await shows(page, '#phase', 'opted out');
  await reports(page, /Opt-out/);
  await page.click('#sign-out');
  await signIn(page);
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

test('a refresh without a token says why in a sentence', async () => {
  const page = await open('/');
  await page.waitForSelector('#sign-in:not([hidden])');
  await page.click('#refresh');
  await shows(page, '#done', 'Nobody is signed in');
});
