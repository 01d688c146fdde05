/**
 * The script tag as publishers deploy it: the built file in a real Chromium, a real operator and a publisher's token handler
 * over HTTP. Tokens are due after a second; every wait is for an event.
 */

import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { serveSite } from '../support/browser.ts';
import { openPage, READER, startOperator } from './publisher.ts';

const startPublisher = async (script: string) => {
  const { baseUrl, client, asked, handler } = await startOperator();
  const site = await serveSite({
    '/': `<!doctype html><title>publisher</title>
      <script>
        window.seen = [];
        for (const name of ['token', 'expired', 'optout', 'needstokens'])
          addEventListener('tessera:' + name, ({ type, detail }) => seen.push([type, detail]));
        (window.tessera = window.tessera || []).push(({ session }) => {
          for (const name of ['token', 'expired', 'optout', 'needsTokens', 'error'])
            session.on(name, (payload) => seen.push([name, payload]));
        });
      </script>
      <script async src="/${script}" data-base-url="${baseUrl}" data-provide="/token"></script>`,
    '/token': handler,
  });
  return { site, client, asked };
};

type Seen = [name: string, payload: Record<string, unknown>];

/** Wait until the page has received an event so many times; return all events that it has received. */
const seenOn = async (page: Page, name: string, times: number): Promise<Seen[]> => {
  await page.waitForFunction(
    ([name, times]) => (window as never as { seen: Seen[] }).seen.filter(([seen]) => seen === name).length >= times,
    [name, times] as const,
    { timeout: 45_000 },
  );
  return page.evaluate(() => (window as never as { seen: Seen[] }).seen);
};

const tessera = <T>(page: Page, read: string) => page.evaluate<T>(`window.tessera.${read}`);

test('a page gets three refreshes and an opt-out', async () => {
  const { site, client, asked } = await startPublisher('tessera.js');
  const page = await openPage(`${site.origin}/`);

  const seen = await seenOn(page, 'token', 4);
  const emitted = seen.filter(([name]) => name === 'token').map(([, payload]) => payload);
  expect(emitted.slice(0, 4).map(({ cause }) => cause)).toEqual(['provide', 'refresh', 'refresh', 'refresh']);
  const tokens = emitted.map(({ advertisingToken }) => advertisingToken as string);
  expect(new Set(tokens).size).toBe(tokens.length);
  expect(await client.validate(tokens[3]!, READER)).toBe(true);

  // Every script hears the events on `window`: they carry the times, not the token.
  const onWindow = seen.filter(([name]) => name === 'tessera:token').map(([, payload]) => payload);
  expect(onWindow.slice(0, 4).map(({ refreshAt }) => refreshAt)).toEqual(
    emitted.slice(0, 4).map(({ refreshAt }) => refreshAt),
  );
  for (const detail of onWindow)
    expect(Object.keys(detail).sort()).toEqual(['endsAt', 'expiresAt', 'phase', 'refreshAt']);

  await client.optOut(READER);
  const all = await seenOn(page, 'optout', 1);
  expect(all.map(([name]) => name).filter((name) => !/token$/.test(name))).toEqual(['tessera:optout', 'optout']);
  expect(await tessera(page, 'session.advertisingToken')).toBeUndefined();
  expect(await tessera(page, 'session.state.phase')).toBe('optedOut');
  const generated = () => asked.filter((request) => request === 'POST /v2/token/generate').length;
  // Another user may be signed in: `provide` is called once on each page after the opt-out.
  await expect.poll(generated, { timeout: 20_000 }).toBe(2);

  await page.reload();
  await tessera(page, 'session.ready');
  expect(await tessera(page, 'session.state.phase')).toBe('optedOut');

  // No preflight, and no request that was not needed.
  expect(new Set(asked)).toEqual(
    new Set(['POST /v2/token/generate', 'POST /v2/token/refresh', 'POST /v2/token/validate', 'POST /v2/token/logout']),
  );
  await expect.poll(generated, { timeout: 20_000 }).toBe(3);
  expect(site.requests).not.toContain('GET /tessera-noble.js');
});
