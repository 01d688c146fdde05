/**
 * How often an idle page wakes up: timers that fire while the token is valid for another hour.
 *
 * Runs in Chromium's virtual time, in which ten minutes pass at once and real timers fire. Playwright keeps every page visible,
 * so hidden pages are simulated: `document.visibilityState` and its event.
 */

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { Measurement } from './measure.ts';
import { COUNT_TIMERS } from './support/count-timers.ts';
import { startPages } from './support/page.ts';

const MINUTES = 10;

/** Counts timers, notes when the token is due, and hides the page if its address says so. */
const SCRIPT = `${COUNT_TIMERS}
  window.due = 0;
  if (location.hash === '#hidden') hide();
  function hide() {
    Object.defineProperty(Document.prototype, 'visibilityState', { configurable: true, value: 'hidden' });
    Object.defineProperty(document, 'hidden', { configurable: true, value: true });
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
  }
  (window.tessera = window.tessera || []).push(({ session }) => session.on('token', ({ refreshAt }) => { due = refreshAt; }));`;

interface Counted {
  fired: number;
  readonly due: number;
  hide(): void;
}

/** Let virtual minutes pass on a page. Returns how many timers fired, and how much time passed for the page. */
const idle = async (page: Page): Promise<number> => {
  const cdp = await page.context().newCDPSession(page);
  const start = await page.evaluate(() => {
    const counted = window as never as Counted;
    counted.fired = 0;
    return { at: Date.now(), due: counted.due };
  });
  assert.ok(start.due > start.at + 2 * MINUTES * 60_000, 'expected a token that is not due');
  const passed = new Promise<void>((resolve) => cdp.once('Emulation.virtualTimeBudgetExpired', () => resolve()));
  await cdp.send('Emulation.setVirtualTimePolicy', { policy: 'advance', budget: MINUTES * 60_000 });
  await passed;
  const end = await page.evaluate(() => ({ at: Date.now(), fired: (window as never as Counted).fired }));
  assert.ok(end.at - start.at >= MINUTES * 60_000, 'expected virtual time to pass');
  return end.fired / MINUTES;
};

export const measure = async (): Promise<Measurement[]> => {
  const pages = await startPages({ refreshFrom: 3600, identityExpires: 7200, refreshExpires: 86_400 }, SCRIPT);
  const ready = async (hash: string, profile = pages.open()) => {
    const page = await (await profile).newPage();
    await page.goto(pages.url + hash);
    await page.waitForFunction(() => (window as never as Counted).due > 0);
    return page;
  };
  const seen = await ready('');
  const visible = await idle(seen);
  const left = await ready('');
  await left.evaluate(() => (window as never as Counted).hide());
  const hidden = await idle(left);
  // Hidden from the start, with a set stored by another page.
  const profile = pages.open();
  await (await ready('', profile)).close();
  const born = await idle(await ready('#hidden', profile));
  await pages.close();
  const line = (what: string, value: number, atMost: number): Measurement => ({
    what: `timers fired a minute while idle, ${what}`,
    value,
    unit: '/min',
    limit: { atMost },
    beside: `${MINUTES} virtual minutes, token due in an hour; ${pages.engine}`,
  });
  return [
    line('visible page', visible, 1),
    line('page that was hidden', hidden, 0),
    line('page opened hidden', born, 0),
  ];
};
