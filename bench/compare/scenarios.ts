/**
 * The scenarios of "Side by side, recorded": what each client does with ten tabs, in an outage, on a return visit, at a logout, on a
 * slow network. A client that cannot take part in one has no value there.
 */

import { median, sleep } from '../measure.ts';
import type { Peer } from '../peers/list.ts';
import type { Visited } from '../peers/pages/visit.ts';
import type { Comparison } from '../peers/site.ts';
import { startVisitor } from '../peers/visits.ts';
import { measureOutage } from '../peers-outage.bench.ts';
import { measureTabs, openTabs } from '../peers-tabs.bench.ts';
import { launchBrowser } from '../support/browser.ts';

const VISITS = 7;

/** A slow mobile network: bytes per second, ms. */
const SLOW = { offline: false, downloadThroughput: 50_000, uploadThroughput: 50_000, latency: 400 };
/** Until every client has its token there, ms: Playwright's own script would share the page's main thread. */
const SLOW_QUIET_MS = 4_000;

/** How long a refresh takes where it is slow, ms: longer than each tab needs to look at its token once. */
const REFRESH_MS = 10_000;

/** What is measured, and how: a value for each client; null if it cannot take part. */
export interface Scenario {
  readonly title: string;
  /** What the value is. Less is better. */
  readonly axis: string;
  readonly unit: string;
  /** Why a client that takes part has no value. */
  readonly without?: string;
  measure(comparison: Comparison, clients: readonly Peer[]): Promise<readonly (number | null)[]>;
}

/** Measure one client after the other. */
const each =
  (measureOne: (comparison: Comparison, peer: Peer) => Promise<number | null>): Scenario['measure'] =>
  async (comparison, clients) => {
    const values: (number | null)[] = [];
    for (const peer of clients) {
      values.push(await measureOne(comparison, peer));
      console.log(peer.label, values.at(-1));
    }
    return values;
  };

/** In turns, so that other load on the machine slows all of them. */
const returnVisits: Scenario['measure'] = async (comparison, clients) => {
  const visitors = [];
  for (const { name } of clients)
    visitors.push({ ...(await startVisitor(comparison, name)), measured: [] as number[] });
  // The first one fills the caches.
  for (let visit = 0; visit <= VISITS; visit++)
    for (const { measured, tokenMs } of visitors) measured.push(await tokenMs(1));
  for (const { profile } of visitors) await profile.close();
  return visitors.map(({ measured }) => median(measured.slice(1)));
};

const slowVisit = async (comparison: Comparison, { name }: Peer): Promise<number> => {
  const profile = await comparison.profile();
  const visit = { page: name, run: `slow-${name}` };
  await comparison.open(profile, { ...visit, signIn: true });
  const page = await comparison.open(profile, { ...visit, quietMs: SLOW_QUIET_MS }, async (tab) => {
    const wire = await profile.newCDPSession(tab);
    await wire.send('Network.enable');
    await wire.send('Network.emulateNetworkConditions', SLOW);
  });
  const ms = await page.evaluate(() => (window as never as Visited).doneAt);
  await profile.close();
  return ms;
};

/** A logout in one of ten tabs while a refresh is under way: the tabs that return a token when all answers have come. */
const logout = async (comparison: Comparison, peer: Peer): Promise<number | null> => {
  if (peer.name === 'prebid') return null;
  const { profile, tabs, dueAt } = await openTabs(comparison, peer, 'logout');
  comparison.refreshMs = REFRESH_MS;
  await sleep(dueAt - Date.now() + (peer.tickS + 1) * 1000);
  await tabs[0]!.evaluate(() => (window as never as Visited).peer.signOut!().then(() => undefined));
  // The answers, and whatever the tabs do at their next look at the token.
  await sleep(REFRESH_MS + peer.tickS * 1000);
  const tokens = await Promise.all(
    tabs.map((page) =>
      page.evaluate(() =>
        (window as never as Visited).peer.ask().then(
          (token) => !!token,
          () => false,
        ),
      ),
    ),
  );
  comparison.refreshMs = 0;
  await profile.close();
  return tokens.filter(Boolean).length;
};

/** The scenarios of the pages in `bench/peers/`. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  tabs: {
    title: 'Ten tabs',
    axis: 'requests to refresh one identity',
    unit: '',
    measure: each(async (comparison, peer) => (await measureTabs(comparison, peer)).value),
  },
  'slow tabs': {
    title: 'Ten tabs, slow network',
    axis: 'the same, with an answer after 10 s',
    unit: '',
    measure: each(async (comparison, peer) => (await measureTabs(comparison, peer, REFRESH_MS)).value),
  },
  logout: {
    title: 'Logout during a refresh',
    axis: 'of ten tabs, those that return a token later',
    unit: '',
    without: 'has no call for it',
    measure: each(logout),
  },
  visit: {
    title: 'Return visit',
    axis: 'from the end of the script’s download to the token',
    unit: 'ms',
    measure: returnVisits,
  },
  slow: {
    title: 'Return visit, slow network',
    axis: 'at 400 kbit/s, from the navigation to the token',
    unit: 'ms',
    measure: each(slowVisit),
  },
};

/** An hour of 503, a second for a minute: requests, and minutes without a valid token, by the title of the client in the demo. */
export async function outage() {
  const { browser } = await launchBrowser();
  try {
    return await measureOutage(browser, '503', 60);
  } finally {
    await browser.close();
  }
}
