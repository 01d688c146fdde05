/**
 * The demo in a real Chromium: what each page promises to show, by keyboard where a visitor may have nothing else, and its looks
 * (axe-core, no clipped or broken words, no sideways scrolling) wide and light, narrow and dark. Screenshots are kept in test-output/.
 */

import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { createServer } from 'node:net';
import axe from 'axe-core';
import type { BrowserContext, Frame, Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { root } from '../../build/dist.ts';
import { INSTALL_MS, install } from '../../build/packages.ts';
import { type Demo, startDemo } from '../../demo/main.ts';
import { PAGES } from '../../demo/pages.ts';
import { openProfile } from '../support/browser.ts';

const WAIT = { timeout: 60_000 };
// Four pages with a session each: on a busy machine they take long.
vi.setConfig({ testTimeout: 240_000 });

let demo: Demo;
let profile: BrowserContext;
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
const open = async (path: string, in_ = profile, { url } = demo): Promise<Page> => {
  const page = await in_.newPage();
  const thrown: Error[] = [];
  page.on('pageerror', (error) => thrown.push(error));
  onTestFinished(() => expect(thrown).toEqual([]));
  await page.goto(url + path);
  return page;
};

const text = (page: Page, selector: string) => page.locator(selector).first().textContent();
const shows = (page: Page, selector: string, expected: string | RegExp) =>
  expect.poll(() => text(page, selector), WAIT).toMatch(expected);
const signIn = async (page: Page) => {
  await page.click('#sign-in button[type=submit]');
  await shows(page, '#phase', 'fresh');
};
/** Choose a fault in the dashboard. Its radio buttons are hidden behind their labels, so no position of theirs is clicked. */
const choose = (page: Page, name: string, value: string) =>
  page.locator(`input[name=${name}][value="${value}"]`).dispatchEvent('click');
const report = (page: Page) => page.evaluate<string>('document.querySelector("tessera-inspector").report');
const reports = (page: Page, expected: RegExp) => expect.poll(() => report(page), WAIT).toMatch(expected);

describe('the start', () => {
  test('other Host names, which a page of another site may have for this machine, get no answer', async () => {
    const { port } = new URL(demo.url);
    for (const [host, status] of [
      [`evil.example:${port}`, 421],
      [`localhost:${port}`, 200],
    ] as const) {
      const [response] = await once(get(demo.url, { headers: { host } }), 'response');
      response.resume();
      expect(response.statusCode).toBe(status);
    }
  });

  test('a given port that is in use is an error; the default port is replaced with a free one', async () => {
    const port = Number(new URL(demo.url).port);
    await expect(startDemo({ port, incumbent: '' })).rejects.toMatchObject({ code: 'EADDRINUSE', port });
    const holder = createServer().listen(4700, '127.0.0.1');
    onTestFinished(() => void holder.close());
    // Whoever holds the port: this test or another process.
    await Promise.race([once(holder, 'listening'), once(holder, 'error')]);
    const other = await startDemo({ incumbent: '' });
    onTestFinished(() => other.close());
    expect(other.url).not.toMatch(/:4700$/);
    expect((await fetch(other.url)).status).toBe(200);
  });

  test('the last port is a port of the pages: the operator uses any free one', async () => {
    const last = await startDemo({ port: 65_535, incumbent: '' });
    onTestFinished(() => last.close());
    expect(last.url).toBe('http://127.0.0.1:65535');
    expect((await fetch(`${last.operatorUrl}/metrics`)).status).toBe(200);
  });

  test('Prebid is installed when its page is opened; meanwhile, and after a failure, the page says so', async () => {
    let end: (error?: Error) => void = () => {};
    const folders: string[] = [];
    const installs = (folder: string) =>
      new Promise<void>((resolve, reject) => {
        folders.push(folder);
        end = (error) => (error ? reject(error) : resolve());
      });
    const other = await startDemo({ port: 0, incumbent: '', install: installs });
    onTestFinished(() => other.close());
    await open('/', profile, other);
    expect(folders).toEqual([]);
    const page = await open('/prebid', profile, other);
    await shows(page, 'main', 'The packages of this page are being installed, once. It opens by itself.');
    end(new Error('demo/prebid: could not install its packages'));
    await shows(page, 'main', /could not install its packages\s+Load this page again to try once more/);
    await page.reload();
    expect(folders).toEqual(['demo/prebid', 'demo/prebid']);
    end();
    await page.waitForSelector('#auction', WAIT);
  });

  test('a copy of the UID2 JavaScript SDK that does not exist is an error', async () => {
    await expect(startDemo({ port: 0, incumbent: '/nowhere/sdk.js' })).rejects.toThrow(
      'demo: could not read /nowhere/sdk.js; TESSERA_INCUMBENT must be the path of a script file',
    );
  });
});

describe('the dashboard', () => {
  test('by keyboard alone: sign in, open the list of the Inspector, choose a fault, sign out', async () => {
    const page = await open('/');
    const focused = () =>
      page.evaluate<string>('document.activeElement.id || document.activeElement.textContent.trim()');
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
    await expect
      .poll(() => second.locator('#requests tr', { hasText: /Tab 5\s*token\/refresh/ }).count(), WAIT)
      .toBe(1);
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
});

describe('a page for each use', () => {
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

  test('script tag: without a server it says so', async () => {
    const page = await open('/script-tag');
    await page.waitForSelector('#sign-in:not([hidden])');
    await profile.setOffline(true);
    await page.click('#sign-in button[type=submit]');
    await shows(page, '#problem', 'cannot be reached');
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

  test('advertiser: a list is mapped, and after a year all of it is due', async () => {
    // Of its own, because the counts are those of all lists that its demo has mapped.
    const other = await startDemo({ port: 0, incumbent: '' });
    onTestFinished(() => other.close());
    const page = await open('/advertiser', profile, other);
    await page.click('#sample');
    // PGlite takes long to start on a busy machine.
    await expect.poll(() => text(page, '#said'), { timeout: 150_000 }).toMatch(/997 mapped.*1 opted out, 1 not valid/);
    await shows(page, '#due-count', /^0$/);
    await page.click('[data-travel="31536000000"]');
    await shows(page, '#due-count', /^997$/);
    await page.click('#map-due');
    await shows(page, '#said', /997 mapped/);
    await shows(page, '#due-count', /^0$/);
    await shows(page, '#rotated', /^[1-9]/);
  });

  test('advertiser: a file is read as by the command, and what is wrong is said: rows, a missing column, a broken connection', async () => {
    const page = await open('/advertiser');
    const upload = (...lines: string[]) =>
      page.setInputFiles('#file', { name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(lines.join('\n')) });
    await upload(
      'name;E-Mail Address',
      'Ann;ann@example.com',
      '"Bo; Jr";bo@example.com',
      'Cy;',
      'Di;nothing',
      'Ed;none',
    );
    await expect.poll(() => text(page, '#said'), { timeout: 150_000 }).toMatch(/2 mapped.*3 not valid/);
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
  });

  test('operator: an error of the metrics endpoint is not shown as figures', async () => {
    await profile.route('**/demo/metrics', (route) => route.fulfill({ status: 502, json: { message: 'failed' } }));
    const page = await open('/operator');
    await shows(page, '#problem', 'The metrics endpoint answered 502.');
    expect(await text(page, '#figures')).toBe('');
  });

  test('React: without a server it says so', async () => {
    const page = await open('/react');
    await profile.setOffline(true);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await shows(page, '#problem', 'cannot be reached');
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

  test('side by side: under an outage, and after it; the reader of the other pages stays', async () => {
    const other = await open('/script-tag');
    const reader = () => other.evaluate(async () => (await fetch('/me')).text());
    const before = await reader();
    const page = await open('/compare');
    const frame = (name: string) => page.frameLocator(`iframe[title="${name}"]`).locator('#now');
    for (const name of ['Tessera', 'Prebid'])
      await expect.poll(() => frame(name).textContent(), WAIT).toBe('a valid token');
    expect(await page.innerText('#clients')).toMatch(
      /Tessera, Prebid\.[\s\S]*TESSERA_INCUMBENT=uid2-sdk\.js npm run demo/,
    );
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
    await shows(page, '#pause-text', /^Tessera: The next attempt is in \d+ s: the session pauses after a refusal/);
    await page.click('#refresh-now');
    await shows(page, '#done', 'There is a new token.');
    expect(await text(other, '#requests')).toBe('');
  });
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

/** Every combination is kept as a screenshot; two of them, which differ in all, are checked. */
const LOOKS = [
  { width: 1280, colorScheme: 'light', isChecked: true },
  { width: 1280, colorScheme: 'dark', isChecked: false },
  { width: 390, colorScheme: 'light', isChecked: false },
  { width: 390, colorScheme: 'dark', isChecked: true },
] as const;

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
  const found: string[] = [];
  for (const path of Object.keys(PAGES).filter((one) => !PAGES[one]!.isFrame)) {
    const page = await open(path);
    if (path === '/') await reports(page, /Token, (refreshed here|from another tab)/);
    else await page.waitForLoadState('networkidle').catch(() => {});
    for (const details of await page.locator('main details.code').all())
      await details.evaluate((one) => one.setAttribute('open', ''));
    // One frame of each page: the dashboard shows a page four times. Prebid makes empty frames of its own.
    const own = page.frames().filter((one) => one.url().startsWith(demo.url));
    const frames = [...new Map(own.map((one) => [new URL(one.url()).pathname, one])).values()];
    for (const frame of frames) await frame.evaluate(axe.source);
    for (const { width, colorScheme, isChecked } of LOOKS) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      for (const frame of isChecked ? frames : [])
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
