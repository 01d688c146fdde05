/**
 * How late a refresh starts: when Chromium began to fetch, by its own resource timing, minus the `refresh_from` of the set in
 * force. Visible tabs, each with its own profile, the built script tag and its `data-` attributes, without code of the page.
 *
 * Half-way between refreshes each page also does the minimum that precedes such a fetch: a bare `setTimeout`, a lock, a read of
 * IndexedDB. The lateness of these is what machine and browser add to any refresh.
 */

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { figure, type Measurement, quantile, sleep } from './measure.ts';
import { type Pages, startPages } from './support/page.ts';

const TABS = 4;
const REFRESHES = 7;
const REFRESH_FROM_S = 3;
const LIMIT_MS = 50;

const SCRIPT = `
  window.due = [];
  window.timers = [];
  window.bare = [];
  const opening = indexedDB.open('bench');
  opening.onupgradeneeded = () => opening.result.createObjectStore('bench');
  const read = () => new Promise((done) => {
    opening.result.transaction('bench').objectStore('bench').get('bench').onsuccess = done;
  });
  (window.tessera = window.tessera || []).push(({ session }) => session.on('token', ({ refreshAt }) => {
    due.push(refreshAt);
    const middle = (Date.now() + refreshAt) / 2;
    const late = () => performance.timeOrigin + performance.now() - middle;
    setTimeout(async () => {
      timers.push(late());
      await navigator.locks.request('bench', read);
      bare.push(late());
    }, middle - Date.now());
  }));`;

interface Seen {
  /** `refresh_from` of each set in turn. */
  readonly due: readonly number[];
  /** Lateness of each bare timer, and of the lock and the read after it. */
  readonly timers: readonly number[];
  readonly bare: readonly number[];
}

/** Milliseconds: of each refresh, each bare timer, and each timer with lock and read. */
interface Late {
  readonly ours: readonly number[];
  readonly timers: readonly number[];
  readonly bare: readonly number[];
}

/** Watch one tab until it has refreshed often enough, and return how late each step was. */
const watch = async (page: Page, { url, refreshUrl }: Pages): Promise<Late> => {
  await page.goto(url);
  await page.waitForFunction((count) => (window as never as Seen).due?.length > count, REFRESHES, {
    timeout: (REFRESHES + 5) * REFRESH_FROM_S * 1000,
    polling: 1000,
  });
  const { due, timers, bare, started, visible } = await page.evaluate((address) => {
    const { due, timers, bare } = window as never as Seen;
    const fetches = performance.getEntriesByName(address);
    return {
      due,
      timers,
      bare,
      started: fetches.map(({ startTime }) => performance.timeOrigin + startTime),
      visible: document.visibilityState,
    };
  }, refreshUrl);
  assert.equal(visible, 'visible');
  // One request has refreshed the set of each event, except for the last event.
  assert.equal(started.length, due.length - 1);
  return { ours: started.map((at, i) => at - due[i]!), timers, bare };
};

/** Watch all tabs at the same time. */
const round = async (pages: Pages): Promise<Late> => {
  const tabs = await Promise.all(
    Array.from({ length: TABS }, async (_, i) => {
      const profile = await pages.open();
      await sleep(i * 700);
      const watched = await watch(await profile.newPage(), pages);
      await profile.close();
      return watched;
    }),
  );
  return {
    ours: tabs.flatMap(({ ours }) => ours),
    timers: tabs.flatMap(({ timers }) => timers),
    bare: tabs.flatMap(({ bare }) => bare),
  };
};

export const measure = async (): Promise<Measurement[]> => {
  const pages = await startPages({ refreshFrom: REFRESH_FROM_S, identityExpires: 60, refreshExpires: 600 }, SCRIPT);
  let measured = await round(pages);
  // If the bare timers are late, the machine is too busy for a result: repeat the round, at most twice.
  for (let more = 2; more > 0 && quantile(measured.bare, 1) > LIMIT_MS / 2; more--) measured = await round(pages);
  await pages.close();
  const { ours, timers, bare } = measured;
  const line = (what: string, share: number, judged: boolean): Measurement => ({
    what: `refresh starts after refresh_from, visible tab: ${what} of ${ours.length}`,
    value: quantile(ours, share),
    unit: 'ms',
    ...(judged ? { limit: { atMost: LIMIT_MS } } : {}),
    beside: `bare timer ${figure(quantile(timers, share))}, with lock and read ${figure(quantile(bare, share))} ms; ${pages.engine}`,
  });
  return [line('median', 0.5, true), line('95 %', 0.95, false), line('worst', 1, true)];
};
