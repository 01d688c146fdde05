/**
 * Consent across origins, in a real Chromium: the page that holds the CMP is of another origin than the frame in which the
 * session runs, so they talk through the locator frame.
 */

import type { Frame, Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { createOperator } from '../../src/operator/index.ts';
import { listen } from '../../src/operator/node.ts';
import { createClient, tokenHandler } from '../../src/server/index.ts';
import { openProfile, serveSite } from '../support/browser.ts';

/** A CMP in the page: it answers messages as the specification says, and remembers the calls. */
const cmpPage = (api: '__tcfapi' | '__gpp', asText: boolean, frames: string) => `<!doctype html><title>publisher</title>
  <iframe name="${api}Locator" hidden></iframe>
  <script>
    window.calls = [];
    addEventListener('message', ({ source, data }) => {
      const message = typeof data === 'string' ? JSON.parse(data) : data;
      const call = message?.${api}Call;
      if (call) calls.push({ ...call, source });
    });
    window.tell = (returnValue) => {
      for (const { source, callId, command } of calls) {
        if (command !== 'addEventListener') continue;
        const answer = { ${api}Return: { callId, success: true, returnValue: { listenerId: 7, ...returnValue } } };
        source.postMessage(${asText ? 'JSON.stringify(answer)' : 'answer'}, '*');
      }
    };
  </script>
  ${frames}`;

const SAYS = {
  __tcfapi: {
    gate: 'tcfConsent',
    wait: { gdprApplies: true, eventStatus: 'cmpuishown' },
    yes: { gdprApplies: true, eventStatus: 'useractioncomplete', purpose: { consents: { 1: true } } },
    no: { gdprApplies: true, eventStatus: 'useractioncomplete', purpose: { consents: {} } },
  },
  __gpp: {
    gate: 'gppConsent',
    wait: { pingData: { signalStatus: 'not ready' } },
    yes: {
      pingData: { signalStatus: 'ready', applicableSections: [7], parsedSections: { usnat: [{ SaleOptOut: 2 }] } },
    },
    no: {
      pingData: { signalStatus: 'ready', applicableSections: [7], parsedSections: { usnat: [{ SaleOptOut: 1 }] } },
    },
  },
};

/** A frame of another origin in a page with a CMP, and another frame that lies about the CMP. */
const startFrames = async (api: keyof typeof SAYS, asText: boolean) => {
  const operator = createOperator({ roles: ['GENERATOR'] });
  const asked: string[] = [];
  const { url: baseUrl, close } = await listen(
    {
      fetch: (request) => {
        asked.push(new URL(request.url).pathname);
        return operator.fetch(request);
      },
    },
    { port: 0, graceMs: 0 },
  );
  onTestFinished(close);
  const client = createClient({ baseUrl, ...operator.participants[0]! });
  const framed = await serveSite({
    '/': `<!doctype html><title>frame</title><script src="/tessera.js"></script>
      <script>window.heard = []; addEventListener('message', ({ data }) => heard.push(data));</script>
      <script type="module">
        import { ${SAYS[api].gate} as gate } from '/page/consent.js';
        window.left = new AbortController();
        window.session = tessera.createSession({
          baseUrl: '${baseUrl}',
          consent: gate({ signal: left.signal }),
          provide: () => fetch('/token', { method: 'POST' }).then((response) => response.json()),
        });
      </script>`,
    '/token': tokenHandler({ client, user: () => ({ email: 'reader@example.com' }) }),
  });
  const liar = await serveSite({ '/': '<!doctype html><title>liar</title>' });
  const publisher = await serveSite({
    '/': cmpPage(
      api,
      asText,
      `<iframe id="framed" src="${framed.origin}/"></iframe><iframe id="liar" src="${liar.origin}/"></iframe>`,
    ),
  });
  const page = await (await openProfile()).newPage();
  await page.goto(`${publisher.origin}/`);
  await page.waitForFunction('calls.length');
  const frameAt = (origin: string) => page.frames().find((frame) => frame.url().startsWith(origin))!;
  return { page, asked, frame: frameAt(framed.origin), liar: frameAt(liar.origin), framed };
};

const tell = (page: Page, says: object) => page.evaluate(`tell(${JSON.stringify(says)})`);
const state = (frame: Frame) => frame.evaluate<{ waitingFor?: string; phase: string }>('session.state');
const stored = (frame: Frame) =>
  frame.evaluate<string[]>('indexedDB.databases().then((all) => all.map(({ name }) => name))');

test.each([
  ['__tcfapi', false],
  ['__tcfapi', true],
  ['__gpp', false],
  ['__gpp', true],
] as const)('%s through its locator frame (as text: %s)', async (api, asText) => {
  const { page, asked, frame, liar, framed } = await startFrames(api, asText);
  const { yes, no, wait } = SAYS[api];
  await tell(page, wait);

  // Who knows the call's id, but is not the CMP's window, is not heard.
  const { callId, command, version } = await page.evaluate<Record<string, unknown>>('({ ...calls[0], source: 0 })');
  expect([command, version]).toEqual(['addEventListener', api === '__tcfapi' ? 2 : undefined]);
  const lie = { [`${api}Return`]: { callId, success: true, returnValue: yes } };
  await liar.evaluate((message) => parent.frames[1]!.postMessage(message, '*'), lie);
  await liar.evaluate((message) => parent.frames[1]!.postMessage(JSON.stringify(message), '*'), lie);
  await liar.evaluate(() => parent.frames[1]!.postMessage('no JSON', '*'));
  // Messages of one window keep their order: once this one is there, the lies have been heard.
  await liar.evaluate(() => parent.frames[1]!.postMessage('last', '*'));
  await frame.waitForFunction('heard.at(-1) === "last"');
  expect(await state(frame)).toMatchObject({ waitingFor: 'consent' });
  expect(asked).toEqual([]);
  expect(await stored(frame)).toEqual([]);
  expect(framed.requests).not.toContain('POST /token');

  await tell(page, yes);
  await frame.waitForFunction('session.advertisingToken');
  expect(asked).toEqual(['/v2/token/generate']);

  await tell(page, no);
  await frame.waitForFunction("session.state.waitingFor === 'consent'");
  expect(await frame.evaluate('session.advertisingToken')).toBeUndefined();

  await frame.evaluate('left.abort()');
  await page.waitForFunction('calls.length > 1');
  expect(await page.evaluate('[calls[1].command, calls[1].parameter]')).toEqual(['removeEventListener', 7]);
});
