/**
 * How often an idle page wakes up, this runtime and its peers: calls from timers of the page with a token that is not due, in
 * Chromium's virtual time. Timers of a web worker are not counted; with these options no client starts one.
 */

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { Measurement } from './measure.ts';
import { peers } from './peers/list.ts';
import { type Comparison, inComparison } from './peers/site.ts';
import { COUNT_TIMERS } from './support/count-timers.ts';

const MINUTES = 10;

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

const measureAll = async (comparison: Comparison): Promise<Measurement[]> => {
  const measured: Measurement[] = [];
  for (const { name, label } of peers) {
    const profile = await comparison.profile();
    await profile.addInitScript(COUNT_TIMERS);
    const visit = { page: name, run: `idle-${name}` };
    await (await comparison.open(profile, { ...visit, signIn: true })).close();
    const page = await comparison.open(profile, visit);
    measured.push({
      what: `timers fired a minute while idle, visible page, ${label}`,
      value: await idle(page),
      unit: '/min',
      beside: `${MINUTES} virtual minutes, token due in two hours; ${comparison.engine}`,
      point: { chart: 'idle', series: label },
    });
    await profile.close();
  }
  return measured;
};

export const measure = (): Promise<Measurement[]> => inComparison(measureAll);
