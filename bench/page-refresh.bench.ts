/**
 * What a refresh costs in the page: from the end of the answer, by Chromium's own resource timing, to the `token` event.
 *
 * Beside it, on the same page in turns, the minimum that must happen between the two: take the text of an answer of the same
 * size, import the key, decrypt, parse, and put one value into IndexedDB. `TESSERA_BENCH_REFRESHES=10000` refreshes as often
 * and reports how much the heap grows.
 */

import type { Page } from 'playwright-core';
import { compare, figure, type Measurement } from './measure.ts';
import { startPages } from './support/page.ts';

const ROUNDS = 100;
const REFRESHES = Number(process.env['TESSERA_BENCH_REFRESHES'] ?? 1_000);
/** Refreshes before those: V8 still compiles and optimises during the first hundreds, and keeps what it learns on the heap. */
const WARM_UP_REFRESHES = 500;

const SCRIPT = `
  var sessions = [];
  var events = 0;
  var eventAt = 0;
  (window.tessera = window.tessera || []).push(({ session }) => {
    sessions.push(session);
    session.on('token', () => { events++; eventAt = performance.now(); });
  });
  const lastEnd = () => performance.getEntriesByType('resource').at(-1).responseEnd;

  // One refresh: ms from the end of its answer to the event.
  async function refreshOnce() {
    performance.clearResourceTimings();
    await sessions[0].refresh();
    return eventAt - lastEnd();
  }

  const opening = indexedDB.open('bare');
  opening.onupgradeneeded = () => opening.result.createObjectStore('bare');
  const base64 = (bytes) => btoa(String.fromCharCode(...bytes));
  const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const rawKey = crypto.getRandomValues(new Uint8Array(32));
  const iv = crypto.getRandomValues(new Uint8Array(12));
  let sealed;

  // The same for the bare steps.
  async function bareOnce(size) {
    if (!sealed) {
      const key = await crypto.subtle.importKey('raw', rawKey, 'AES-GCM', false, ['encrypt']);
      const json = JSON.stringify({ body: 'x'.repeat(size) });
      sealed = base64(new Uint8Array(await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, new TextEncoder().encode(json))));
    }
    performance.clearResourceTimings();
    const response = await fetch('/echo', { method: 'POST', body: sealed, cache: 'no-store' });
    const text = await response.text();
    const key = await crypto.subtle.importKey('raw', rawKey, 'AES-GCM', false, ['decrypt']);
    const plain = await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, key, bytesOf(text));
    const value = JSON.parse(new TextDecoder().decode(plain));
    const writing = opening.result.transaction('bare', 'readwrite');
    writing.objectStore('bare').put(value, 'bare');
    await new Promise((done) => { writing.oncomplete = done; });
    return performance.now() - lastEnd();
  }`;

declare const sessions: readonly { refresh(): Promise<void>; advertisingToken: string | undefined }[];
declare const events: number;
declare function refreshOnce(): Promise<number>;
declare function bareOnce(size: number): Promise<number>;

/** Bytes of the JSON in an answer of the operator, about. */
const ANSWER_BYTES = 1_000;

/** Refresh many times; bytes of the heap, after a collection, that are used more than before. */
const growth = async (page: Page): Promise<number> => {
  const cdp = await page.context().newCDPSession(page);
  const used = async () => {
    await cdp.send('HeapProfiler.collectGarbage');
    return (await cdp.send('Runtime.getHeapUsage')).usedSize;
  };
  const refresh = (times: number) =>
    page.evaluate(async (count) => {
      for (let done = 0; done < count; done++) {
        await sessions[0]!.refresh();
        performance.clearResourceTimings();
      }
      return events;
    }, times);
  await refresh(WARM_UP_REFRESHES);
  const before = await used();
  await refresh(REFRESHES);
  return (await used()) - before;
};

export const measure = async (): Promise<Measurement[]> => {
  const pages = await startPages({ refreshFrom: 3600, identityExpires: 7200, refreshExpires: 86_400 }, SCRIPT);
  const page = await (await pages.open()).newPage();
  await page.goto(pages.url);
  await page.waitForFunction(() => sessions[0]?.advertisingToken);
  const { ours, peer, ratio } = await compare(
    { rounds: ROUNDS, warmUp: 5 },
    () => page.evaluate(() => refreshOnce()),
    () => page.evaluate((size) => bareOnce(size), ANSWER_BYTES),
  );
  const bytes = await growth(page);
  await pages.close();
  return [
    {
      what: 'refresh in the page, answer received to event, of the bare steps',
      value: ratio,
      unit: '',
      limit: { atMost: 1.3 },
      beside: `${figure(ours)} and ${figure(peer)} ms; ${pages.engine}`,
    },
    {
      what: `growth of the heap over ${figure(REFRESHES)} refreshes in one page, after ${WARM_UP_REFRESHES}`,
      value: bytes / 1024,
      unit: 'KiB',
      limit: { atMost: 100 },
      beside: pages.engine,
    },
  ];
};
