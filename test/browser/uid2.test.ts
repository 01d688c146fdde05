/** The drop-in's file on a page written for the ecosystem's own browser SDK: a real operator, a real Chromium. */

import { expect, test } from 'vitest';
import { answerOf } from '../../src/server/index.ts';
import { openProfile, serveSite } from '../support/browser.ts';
import { openPage, READER, startOperator } from './publisher.ts';

const PAGE = (baseUrl: string) => `<!doctype html><title>publisher</title>
  <script>
    window.emitted = [];
    window.__uid2 = window.__uid2 || {};
    window.__uid2.callbacks = window.__uid2.callbacks || [];
    window.__uid2.callbacks.push(async (event, payload) => {
      emitted.push([event, payload.identity ? payload.identity.advertising_token : null]);
      if (event === 'SdkLoaded') __uid2.init({ baseUrl: '${baseUrl}', useCookie: true });
      if (event === 'InitCompleted' && !payload.identity) __uid2.setIdentity(await (await fetch('/identity')).json());
    });
  </script>
  <script async src="/tessera-uid2.js"></script>`;

test('a page gets an identity and its refreshes, keeps it over a reload, and loses it at logout', async () => {
  const { baseUrl, client, asked } = await startOperator();
  const site = await serveSite({
    '/': PAGE(baseUrl),
    '/identity': async () => Response.json((answerOf(await client.generate(READER)) as { body: unknown }).body),
  });
  const page = await openPage(`${site.origin}/`);
  const emitted = () => page.evaluate('window.emitted') as Promise<[event: string, token: string | null][]>;
  await page.waitForFunction('window.emitted.length >= 6');
  expect((await emitted()).slice(0, 6).map(([event]) => event)).toEqual([
    'SdkLoaded',
    'IdentityUpdated',
    'InitCompleted',
    'IdentityUpdated',
    'IdentityUpdated',
    'IdentityUpdated',
  ]);
  const token = (await page.evaluate('__uid2.getAdvertisingToken()')) as string;
  expect(await client.validate(token, READER)).toBe(true);
  const cookie = JSON.parse(
    decodeURIComponent((await page.context().cookies()).find(({ name }) => name === '__uid_2')!.value),
  );
  expect(Object.keys(cookie)).toEqual(
    expect.arrayContaining(['advertising_token', 'refresh_token', 'refresh_response_key']),
  );

  await page.reload();
  await page.waitForFunction('window.emitted.length >= 2');
  expect((await emitted())[1]).toEqual(['InitCompleted', expect.any(String)]);
  expect(site.requests.filter((request) => request === 'GET /identity')).toHaveLength(1);

  await page.evaluate('__uid2.disconnect()');
  expect(await page.evaluate('[__uid2.getAdvertisingToken(), __uid2.isLoginRequired()]')).toEqual([undefined, true]);
  expect((await page.context().cookies()).map(({ name }) => name)).not.toContain('__uid_2');
  expect(asked.filter((request) => request === 'POST /v2/token/refresh').length).toBeGreaterThanOrEqual(2);
  expect(asked.some((request) => request.startsWith('OPTIONS'))).toBe(false);
});

test('the request that follows setIdentity carries its cookie, and so does the page that follows at once', async () => {
  // Not due within the test: a refresh would replace the identity.
  const { baseUrl, client } = await startOperator(15);
  const received: string[] = [];
  const site = await serveSite({
    '/': `<!doctype html><title>publisher</title><script src="/tessera-uid2.js"></script>
      <script>__uid2.init({ baseUrl: '${baseUrl}', useCookie: true });
      window.known = [__uid2.isLoginRequired(), __uid2.getAdvertisingToken()];</script>`,
    '/bid': async (request) => {
      received.push(decodeURIComponent(request.headers.get('cookie') ?? ''));
      return new Response(null, { status: 204 });
    },
  });
  const page = await openPage(`${site.origin}/`);
  await page.waitForFunction('__uid2.isInitComplete()');
  for (const email of ['one@example.com', 'two@example.com']) {
    const { body } = answerOf(await client.generate({ email })) as { body: { advertising_token: string } };
    await page.evaluate(`__uid2.setIdentity(${JSON.stringify(body)}); fetch('/bid')`);
    expect(received.at(-1)).toContain(body.advertising_token);
    // The call may not return: its page is left.
    const left = page.evaluate(`__uid2.setIdentity(${JSON.stringify(body)}); location.href = '/?${email}'`);
    await Promise.all([page.waitForURL(`**/?${email}`), left.catch(() => {})]);
    expect(await page.evaluate('window.known')).toEqual([false, body.advertising_token]);
  }
});

test('a cookie of a sibling subdomain supplies neither options nor, without cookie mode, an identity', async () => {
  const { client } = await startOperator();
  const { body } = answerOf(await client.generate(READER)) as { body: unknown };
  const site = await serveSite({
    '/': '<!doctype html><title>publisher</title><script src="/tessera-uid2.js"></script>',
  });
  const context = await openProfile();
  const cookie = (name: string, value: unknown) => ({
    name,
    value: encodeURIComponent(JSON.stringify(value)),
    domain: '.example.test',
    path: '/',
  });
  await context.addCookies([
    cookie('__uid_2', body),
    cookie('__uid_2_config', { baseUrl: 'https://other.example', useCookie: true, cookieDomain: 'example.test' }),
  ]);
  const page = await context.newPage();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).host));
  await page.goto(`${site.plainOrigin}/`);
  expect(await page.evaluate('[__uid2.getIdentity(), __uid2.isInitComplete()]')).toEqual([null, false]);
  await page.evaluate('__uid2.init({})');
  await page.waitForFunction('__uid2.isInitComplete()');
  expect(await page.evaluate('[__uid2.getIdentity(), __uid2.isLoginRequired()]')).toEqual([null, true]);
  expect(new Set(asked)).toEqual(new Set([new URL(site.plainOrigin).host]));
});

test('an element named cookie in user content does not hide the cookie', async () => {
  const { baseUrl, handler } = await startOperator(20);
  const site = await serveSite({
    '/': `<!doctype html><title>publisher</title><img name="cookie"><script src="/tessera-uid2.js"></script>`,
    '/token': handler,
    '/empty': '<!doctype html><title>publisher</title>',
  });
  const page = await openPage(`${site.origin}/`);
  await page.evaluate(`fetch('/token', { method: 'POST' })
      .then((response) => response.json())
      .then(({ body }) => __uid2.init({ baseUrl: '${baseUrl}', useCookie: true, identity: body }))`);
  await page.waitForFunction('__uid2.isInitComplete()');
  expect(await page.evaluate('typeof document.cookie')).not.toBe('string');
  expect(await page.evaluate('localStorage.getItem("UID2-sdk-identity")')).toBe(null);
  await page.goto(`${site.origin}/empty`);
  expect(await page.evaluate('document.cookie')).toContain('__uid_2=%7B');
});

test('a page script that has replaced document.cookie to block cookies is not bypassed', async () => {
  const { baseUrl, handler } = await startOperator(20);
  const site = await serveSite({
    '/': `<!doctype html><title>publisher</title>
      <script>Object.defineProperty(document, 'cookie', { get: () => '', set: () => {} });</script>
      <script src="/tessera-uid2.js"></script>`,
    '/token': handler,
  });
  const page = await openPage(`${site.origin}/`);
  await page.evaluate(`fetch('/token', { method: 'POST' })
    .then((response) => response.json())
    .then(({ body }) => __uid2.init({ baseUrl: '${baseUrl}', useCookie: true, identity: body }))`);
  await page.waitForFunction('__uid2.isInitComplete()');
  expect(await page.evaluate('!!__uid2.getAdvertisingToken()')).toBe(true);
  expect(await page.context().cookies()).toEqual([]);
});
