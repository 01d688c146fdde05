/** A tab whose process ends, as in a crash: a write that it has sent is not lost. */

import { expect, test } from 'vitest';
import { answerOf } from '../../src/server/index.ts';
import { openProfile, serveSite } from '../support/browser.ts';
import { READER, startOperator } from './publisher.ts';

/** From the next write on, the page runs no task any more: it does not hear that the write succeeded. It says `/written` before. */
const HANG_AFTER_WRITE = `{
  const { put } = IDBObjectStore.prototype;
  IDBObjectStore.prototype.put = function (...args) {
    queueMicrotask(() => {
      const request = new XMLHttpRequest();
      request.open('POST', '/written', false);
      request.send();
      for (;;);
    });
    return put.apply(this, args);
  };
}`;

test('a logout is stored even if the page’s process ends before the page is notified of the write', async () => {
  const { baseUrl, client } = await startOperator(15);
  const { origin, requests } = await serveSite({
    '/': `<script src="/tessera.js" data-base-url="${baseUrl}"></script>`,
  });
  const profile = await openProfile();
  const openTab = async () => {
    const tab = await profile.newPage();
    await tab.goto(origin);
    return tab;
  };
  const tab = await openTab();
  const answer = answerOf(await client.generate(READER));
  await tab.evaluate(`tessera.session.setTokens(${JSON.stringify(answer)})`);
  expect(await tab.evaluate('tessera.session.state.phase')).toBe('fresh');

  const devtools = await profile.newCDPSession(tab);
  await tab.evaluate(`${HANG_AFTER_WRITE} setTimeout(() => tessera.session.clear()); undefined`);
  await expect.poll(() => requests, { timeout: 20_000 }).toContain('POST /written');
  const crashed = tab.waitForEvent('crash');
  devtools.send('Page.crash').catch(() => {});
  await crashed;

  const next = await openTab();
  const outcome = "tessera.session.getToken().then(() => 'a token', ({ code }) => code)";
  expect(await next.evaluate(outcome)).toBe('no_token');
});
