/** WebKit's network process ends, and with it every connection to IndexedDB. The pages stay: they go on by themselves and report. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { areAllRequired } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { processesBelow } from '../support/processes.ts';
import { openUndriven } from '../support/webkit.ts';
import { serveWorld } from './site.ts';

/** Report whose token the page has, and what came before it. Then do what the server answers. */
const REPORT = `seen.session.getToken().then(() => 'user', () => 'nobody').then(async (holder) => {
  const answer = await fetch('/report?' + location.hash.slice(1) + ' ' + holder);
  new Function(await answer.text())();
});`;

const LOG_OUT = `setTimeout(async () => {
  location.hash = await seen.outcome(() => seen.session.clear());
  location.reload();
}, 1_000);`;

const missing = inject('missingEngines').webkit;

test.skipIf(missing && !areAllRequired)(
  'WebKit: a logout after the network process has ended rejects, or the next page finds no user',
  async ({ onTestFinished }) => {
    const reports: string[] = [];
    const routes = {
      '/report': ({ url }: Request) => {
        const nth = reports.push(decodeURIComponent(new URL(url).search.slice(1)).trim());
        return new Response(['location.reload();', LOG_OUT][nth - 1] ?? '');
      },
    };
    const site = await serveWorld({ name: 'a page that reports', late: REPORT, routes }, 'tag', onTestFinished);
    site.user = 'ann';
    const folder = await mkdtemp(join(tmpdir(), 'tessera-webkit-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const { pid, close } = await openUndriven(`${site.origin}/`, folder);
    onTestFinished(close);

    // The second page has the stored token.
    await eventually(
      'two pages',
      async () => reports.length,
      (count) => count === 2,
      60_000,
    );
    site.user = 'nobody';
    for (const found of await processesBelow(pid)) {
      if (found.name === 'WebKitNetworkPr') process.kill(found.pid, 'SIGKILL');
    }
    await eventually(
      'the next page',
      async () => reports.length,
      (count) => count === 3,
      60_000,
    );
    expect(reports.slice(0, 2)).toEqual(['user', 'user']);
    expect(['resolved nobody', 'storage_failed nobody', 'storage_failed user']).toContain(reports[2]);
  },
  180_000,
);
