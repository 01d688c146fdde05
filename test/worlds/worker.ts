/** A session in a module worker, which has neither document nor window, beside one of the page. */

import { expect, test } from 'vitest';
import type { OnEnd } from '../support/browser.ts';
import type { Tab } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { tokenOf } from './page.ts';
import { serveWorld } from './site.ts';
import type { World } from './world.ts';

/** Evaluates what the page asks, as the driver does in a page. */
const WORKER = `import '/recorder.js';
import { createSession } from '/session.js';
seen.start(createSession({ baseUrl: decodeURIComponent(location.hash.slice(1)) }));
addEventListener('message', async ({ data, ports: [port] }) => {
  try { port.postMessage({ value: await new Function('return ' + data)() }); }
  catch (error) { port.postMessage({ error: String(error) }); }
});`;

/** The worker and the function that asks it. */
const pageScript = (baseUrl: string) => `<script>{
  const worker = new Worker('/worker.js#${encodeURIComponent(baseUrl)}', { type: 'module' });
  worker.onerror = ({ message }) => seen.problems.push(message ?? 'the worker did not load');
  window.askWorker = (expression) => new Promise((resolve, reject) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data: { value, error } }) => (error ? reject(new Error(error)) : resolve(value));
    worker.postMessage(expression, [port2]);
  });
}</script>`;

const WITH_WORKER: World = {
  name: 'a page with a worker',
  tag: (tag, baseUrl) => tag + pageScript(baseUrl),
  routes: { '/worker.js': () => new Response(WORKER, { headers: { 'content-type': 'text/javascript' } }) },
};

export const testWorker = (openTabs: (onEnd: OnEnd) => Promise<[Tab, Tab]>): void => {
  test('a session in a worker shares the identity of a page, refreshes it once for both, and leaves nothing behind', async ({
    onTestFinished,
  }) => {
    const [page] = await openTabs(onTestFinished);
    const site = await serveWorld(WITH_WORKER, 'tag', onTestFinished);
    site.user = 'ann';
    await page.goto(site.page);
    const ask = <T>(expression: string) => page.evaluate<T>(`askWorker(${JSON.stringify(expression)})`);
    const tokens = async () => [
      await page.evaluate<string | null>('seen.read()'),
      await ask<string | null>('seen.read()'),
    ];
    const share = (before?: string) =>
      eventually('both have the next token', tokens, ([one, other]) => one && one === other && one !== before);

    expect(await ask('typeof document + typeof window')).toBe('undefinedundefined');
    await share();
    expect(await ask('seen.session.state.persistence')).toBe('indexeddb');
    const answer = await site.issue('ann', 500);
    await ask(`seen.session.setTokens(${answer})`);
    await eventually(
      'the refresh',
      async () => site.asked.filter((request) => request === 'POST /v2/token/refresh').length,
      Boolean,
    );
    const [renewed] = await share(tokenOf(answer));
    expect(await ask('seen.session.getToken()')).toBe(renewed);
    expect(site.asked.filter((request) => request === 'POST /v2/token/refresh')).toHaveLength(1);

    await page.evaluate('void seen.session.close()');
    await ask('void seen.session.close()');
    await eventually(
      'nothing is left after close()',
      () => ask<string[]>('seen.leftovers()'),
      ({ length }) => !length,
    );
    expect(await ask('seen.problems')).toEqual([]);
    expect(await page.evaluate('seen.problems')).toEqual([]);
  });
};
