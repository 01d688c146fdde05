/**
 * Consent across origins, in a real Chromium: the page with the CMP is of another origin than the frame with the session, so
 * the messages go through the window that holds the locator frame.
 */

import type { Frame, Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { createOperator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { createClient, tokenHandler } from '../../src/server/index.ts';
import { openProfile, serveSite } from '../support/browser.ts';
import { encodeGppString, pingDataOf, TCF } from '../support/cmp.ts';

/** A page with a CMP that answers messages, as the specifications say, and records the calls. */
const cmpPage = (
  api: '__tcfapi' | '__gpp',
  asString: boolean,
  frames: string,
) => `<!doctype html><title>publisher</title>
  <iframe name="${api}Locator" hidden></iframe>
  <script>
    window.calls = [];
    addEventListener('message', ({ source, data }) => {
      const message = typeof data === 'string' ? JSON.parse(data) : data;
      const call = message?.${api}Call;
      if (call) calls.push({ ...call, source });
    });
    window.publish = (returnValue) => {
      for (const { source, callId, command } of calls) {
        if (command !== 'addEventListener') continue;
        const answer = { ${api}Return: { callId, success: true, returnValue: { listenerId: 7, ...returnValue } } };
        source.postMessage(${asString ? 'JSON.stringify(answer)' : 'answer'}, '*');
      }
    };
  </script>
  ${frames}`;

const pingData = (SaleOptOut: number) => pingDataOf(encodeGppString({ usnat: { SaleOptOut } }), [7]);

const EVENTS = {
  __tcfapi: { gate: 'tcfConsent', pending: TCF.shown, granted: TCF.granted, refused: TCF.refused },
  __gpp: {
    gate: 'gppConsent',
    pending: { pingData: { ...pingData(0), signalStatus: 'not ready' } },
    granted: { pingData: pingData(2) },
    refused: { pingData: pingData(1) },
  },
};

/** A page with a CMP, a frame of another origin with a session, and another frame that forges answers of the CMP. */
const startFrames = async (api: keyof typeof EVENTS, asString: boolean) => {
  const operator = createOperator({ roles: ['GENERATOR'] });
  const requests: string[] = [];
  const { url: baseUrl, close } = await listen(
    {
      fetch: (request) => {
        requests.push(new URL(request.url).pathname);
        return operator.fetch(request);
      },
    },
    { port: 0, graceMs: 0 },
  );
  onTestFinished(close);
  const client = createClient({ baseUrl, ...operator.participants[0]! });
  const framed = await serveSite({
    '/': `<!doctype html><title>frame</title><script src="/tessera.js"></script>
      <script>window.messages = []; addEventListener('message', ({ data }) => messages.push(data));</script>
      <script type="module">
        import { ${EVENTS[api].gate} as gate } from '/page/consent.js';
        window.controller = new AbortController();
        window.session = tessera.createSession({
          baseUrl: '${baseUrl}',
          consent: gate({ waitMs: 0, signal: controller.signal }),
          provide: () => fetch('/token', { method: 'POST' }).then((response) => response.json()),
        });
      </script>`,
    '/token': tokenHandler({ client, user: () => ({ email: 'reader@example.com' }) }),
  });
  const forger = await serveSite({ '/': '<!doctype html><title>forger</title>' });
  const publisher = await serveSite({
    '/': cmpPage(
      api,
      asString,
      `<iframe id="framed" src="${framed.origin}/"></iframe><iframe id="forger" src="${forger.origin}/"></iframe>`,
    ),
  });
  const page = await (await openProfile()).newPage();
  await page.goto(`${publisher.origin}/`);
  await page.waitForFunction('calls.length');
  const frameAt = (origin: string) => page.frames().find((frame) => frame.url().startsWith(origin))!;
  return { page, requests, frame: frameAt(framed.origin), forger: frameAt(forger.origin), framed };
};

const publish = (page: Page, event: object) => page.evaluate(`publish(${JSON.stringify(event)})`);
const state = (frame: Frame) => frame.evaluate<{ waitingFor?: string; phase: string }>('session.state');
const databases = (frame: Frame) =>
  frame.evaluate<string[]>('indexedDB.databases().then((all) => all.map(({ name }) => name))');
const removed = async (page: Page) => {
  await page.waitForFunction('calls.length > 1');
  return page.evaluate('calls.slice(1).map(({ command, parameter }) => [command, parameter])');
};

test.each([
  ['__tcfapi', false],
  ['__tcfapi', true],
  ['__gpp', false],
  ['__gpp', true],
] as const)('%s through its locator frame (messages as strings: %s)', async (api, asString) => {
  const { page, requests, frame, forger, framed } = await startFrames(api, asString);
  const { pending, granted, refused } = EVENTS[api];
  await publish(page, pending);

  // Another window that knows the ID of the call is not the CMP.
  const { callId, command, version } = await page.evaluate<Record<string, unknown>>('({ ...calls[0], source: 0 })');
  expect([command, version]).toEqual(['addEventListener', api === '__tcfapi' ? 2 : undefined]);
  const forgery = { [`${api}Return`]: { callId, success: true, returnValue: granted } };
  await forger.evaluate((message) => parent.frames[1]!.postMessage(message, '*'), forgery);
  await forger.evaluate((message) => parent.frames[1]!.postMessage(JSON.stringify(message), '*'), forgery);
  await forger.evaluate(() => parent.frames[1]!.postMessage('no JSON', '*'));
  // Messages of one window keep their order: after this one, the forged ones have been received.
  await forger.evaluate(() => parent.frames[1]!.postMessage('last', '*'));
  await frame.waitForFunction('messages.at(-1) === "last"');
  expect(await state(frame)).toMatchObject({ waitingFor: 'consent' });
  expect(requests).toEqual([]);
  expect(await databases(frame)).toEqual([]);
  expect(framed.requests).not.toContain('POST /token');

  await publish(page, granted);
  await frame.waitForFunction('session.advertisingToken');
  expect(requests).toEqual(['/v2/token/generate']);

  await publish(page, refused);
  await frame.waitForFunction("session.state.waitingFor === 'consent'");
  expect(await frame.evaluate('session.advertisingToken')).toBeUndefined();

  await frame.evaluate('controller.abort()');
  expect(await removed(page)).toEqual([['removeEventListener', 7]]);
});

test.each(['__tcfapi', '__gpp'] as const)(
  '%s: a gate aborted before the first event removes its listener',
  async (api) => {
    const { page, requests, frame } = await startFrames(api, false);
    await frame.evaluate('controller.abort()');
    await publish(page, EVENTS[api].granted);
    expect(await removed(page)).toEqual([['removeEventListener', 7]]);
    expect(await state(frame)).toMatchObject({ waitingFor: 'consent' });
    expect(requests).toEqual([]);
  },
);

test.each(['__tcfapi', '__gpp'] as const)(
  '%s: a page of another origin with a frame of that name does not answer for a CMP that loads within waitMs',
  async (api) => {
    const framed = await serveSite({
      '/': `<!doctype html><title>frame</title>
        <script type="module">
          import { ${EVENTS[api].gate} as gate } from '/page/consent.js';
          window.answer = gate()(() => {});
          // It has looked for a CMP once. Messages keep their order.
          parent.postMessage({ ${api}Call: { command: 'last' } }, '*');
        </script>`,
    });
    const publisher = await serveSite({
      '/': cmpPage(api, false, `<iframe name="${api}" hidden></iframe><iframe src="${framed.origin}/"></iframe>`),
    });
    const page = await (await openProfile()).newPage();
    await page.goto(`${publisher.origin}/`);
    await page.waitForFunction("calls.at(-1)?.command === 'last'");
    expect(await page.evaluate('calls.map(({ command }) => command)')).toEqual(['last']);
  },
);
