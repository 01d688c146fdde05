/**
 * What a page with a token that is not due costs, this runtime and its peers: how often timers of the page call it, in Chromium's
 * virtual time, and how much of the heap the client takes, beside a page that only reads localStorage. Timers of a web worker are not
 * counted; with these options no client starts one.
 */

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { figure, type Measurement } from './measure.ts';
import { type PageName, peers } from './peers/list.ts';
import { type Comparison, inComparison } from './peers/site.ts';
import { COUNT_TIMERS } from './support/count-timers.ts';

const MINUTES = 10;
/** By then a page has done what its start leaves to do. */
const SETTLED_MS = 2000;

interface Counted {
  fired: number;
}

/** Let virtual minutes pass. Returns how many timers fired in each. */
const idle = async (page: Page): Promise<number> => {
  const cdp = await page.context().newCDPSession(page);
  const pass = async (minutes: number): Promise<void> => {
    const passed = new Promise<void>((resolve) => cdp.once('Emulation.virtualTimeBudgetExpired', () => resolve()));
    await cdp.send('Emulation.setVirtualTimePolicy', { policy: 'advance', budget: minutes * 60_000 });
    await passed;
  };
  // What the start of a page has left to do is not idling.
  await pass(1);
  const start = await page.evaluate(() => {
    (window as never as Counted).fired = 0;
    return Date.now();
  });
  await pass(MINUTES);
  const end = await page.evaluate(() => ({ at: Date.now(), fired: (window as never as Counted).fired }));
  assert.ok(end.at - start >= MINUTES * 60_000, 'expected virtual time to pass');
  return end.fired / MINUTES;
};

/** KiB of the heap that are in use after a collection. */
const heapOf = async (page: Page): Promise<number> => {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('HeapProfiler.collectGarbage');
  return (await cdp.send('Runtime.getHeapUsage')).usedSize / 1024;
};

/** Open a page whose user has signed in on an earlier visit. */
const openSignedIn = async (comparison: Comparison, name: PageName): Promise<Page> => {
  const profile = await comparison.profile();
  await profile.addInitScript(COUNT_TIMERS);
  const visit = { page: name, run: `idle-${name}` };
  await (await comparison.open(profile, { ...visit, signIn: true })).close();
  return comparison.open(profile, { ...visit, quietMs: SETTLED_MS });
};

const measureAll = async (comparison: Comparison): Promise<Measurement[]> => {
  const measured: Measurement[] = [];
  const floor = await openSignedIn(comparison, 'localstorage');
  const least = await heapOf(floor);
  await floor.context().close();
  for (const { name, label } of peers) {
    const page = await openSignedIn(comparison, name);
    measured.push({
      what: `heap of a session at rest, without that of a page which only reads localStorage, ${label}`,
      value: (await heapOf(page)) - least,
      unit: 'KiB',
      beside: `that page ${figure(least)} KiB; ${comparison.engine}`,
      point: { chart: 'heap', series: label },
    });
    measured.push({
      what: `timers fired a minute while idle, visible page, ${label}`,
      value: await idle(page),
      unit: '/min',
      beside: `${MINUTES} virtual minutes, token due in two hours; ${comparison.engine}`,
      point: { chart: 'idle', series: label },
    });
    await page.context().close();
  }
  return measured;
};

export const measure = (): Promise<Measurement[]> => inComparison(measureAll);
