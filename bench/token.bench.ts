/**
 * How long a return visit waits for its token: from the first byte of the script that runs to the token that is readable. Each
 * visit is a new page of a profile whose IndexedDB has the set.
 *
 * Beside it, on a page of the same site, the floor: open the same database and read the same value, nothing else.
 */

import type { BrowserContext } from 'playwright-core';
import { compare, figure, type Measurement, median, sleep } from './measure.ts';
import { QUIET_MS } from './peers/visits.ts';
import { startPages } from './support/page.ts';

const ROUNDS = 12;
const THROTTLING = [1, 4];

const SCRIPT = `
  var doneAt = 0;
  (window.tessera = window.tessera || []).push(({ session }) => session.on('token', () => {
    if (session.advertisingToken) doneAt ||= performance.now();
  }));`;

/** Opens the database of `dist/tessera.js` by its default name. The first read of the bench finds it there. */
const BARE = `
  const opening = indexedDB.open('tessera');
  opening.onsuccess = () => {
    const read = opening.result.transaction('session').objectStore('session').get('session');
    read.onsuccess = () => { if (read.result.set.advertisingToken) doneAt ||= performance.now(); };
  };`;

interface Timed {
  readonly startedAt: number;
  readonly evaluatedAt: number;
  readonly doneAt: number;
}

/** Visit a page. Returns ms from the first byte to the token, and to the end of the script's own task. */
const visit = async (profile: BrowserContext, url: string, throttling: number) => {
  const page = await profile.newPage();
  const cdp = await profile.newCDPSession(page);
  await cdp.send('Emulation.setCPUThrottlingRate', { rate: throttling });
  await page.goto(url);
  // Playwright's own script, which waits in the page, takes its main thread.
  await sleep(QUIET_MS * throttling);
  await page.waitForFunction(() => (window as never as Timed).doneAt > 0);
  const { startedAt, evaluatedAt, doneAt } = await page.evaluate(() => {
    const { startedAt, evaluatedAt, doneAt } = window as never as Timed;
    return { startedAt, evaluatedAt, doneAt };
  });
  await page.close();
  return { tokenMs: doneAt - startedAt, evaluationMs: evaluatedAt - startedAt };
};

export const measure = async (): Promise<Measurement[]> => {
  const pages = await startPages({ refreshFrom: 3600, identityExpires: 7200, refreshExpires: 86_400 }, SCRIPT, BARE);
  const profile = await pages.open();
  await visit(profile, pages.url, 1);
  const measured: Measurement[] = [];
  for (const throttling of THROTTLING) {
    const evaluations: number[] = [];
    const { ours, peer, ratio } = await compare(
      { rounds: ROUNDS, warmUp: 2 },
      async () => {
        const { tokenMs, evaluationMs } = await visit(profile, pages.url, throttling);
        evaluations.push(evaluationMs);
        return tokenMs;
      },
      async () => (await visit(profile, `${pages.url}bare`, throttling)).tokenMs,
    );
    measured.push({
      what: `time to the token on a return visit, CPU throttled ${throttling}x, of a bare open and read of IndexedDB`,
      value: ratio,
      unit: '',
      ...(throttling === 1 && { limit: { atMost: 1.15 } }),
      beside: `${figure(ours)} and ${figure(peer)} ms; evaluation ${figure(median(evaluations))} ms; ${pages.engine}`,
    });
  }
  await pages.close();
  return measured;
};
