/**
 * How many requests it takes to refresh one identity that is open in ten tabs of one profile, this runtime and its peers. A
 * client that refreshes only when it is called is called in all tabs at the same time, as ten pages do that load ads or data.
 *
 * The service counts, and notes requests with a refresh token that another request had used: a service that rotates refresh
 * tokens refuses those, and may end the sign-in.
 */

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { type Measurement, sleep } from './measure.ts';
import { type Peer, peers } from './peers/list.ts';
import type { Visited } from './peers/pages/visit.ts';
import { type Comparison, inComparison } from './peers/site.ts';

const TABS = 10;
/** When the token is due, s after the sign-in: all tabs have to be open by then. A busy machine gets more at the next try. */
const DUE_S = [8, 20, 60];
/** Time for the refreshes themselves, s. */
const GRACE_S = 5;

/** Open the tabs. Returns undefined if that took longer than the token was good. */
const tryTabs = async (comparison: Comparison, { name }: Peer, run: string, dueS: number) => {
  const profile = await comparison.profile();
  const visit = { page: name, run, dueS };
  const tabs: Page[] = [await comparison.open(profile, { ...visit, signIn: true })];
  while (tabs.length < TABS) tabs.push(await comparison.open(profile, visit));
  const dueAt = comparison.ledger.dueAt(run);
  assert.ok(dueAt, `expected a sign-in of ${name}`);
  if (Date.now() < dueAt) return { run, profile, tabs, dueAt };
  await profile.close();
  return undefined;
};

/** Open ten tabs of one profile before its token is due. */
export const openTabs = async (comparison: Comparison, peer: Peer, what: string) => {
  for (const dueS of DUE_S) {
    const opened = await tryTabs(comparison, peer, `${what}-${peer.name}-${dueS}`, dueS);
    if (opened) return opened;
  }
  throw new Error(`peers-tabs: expected ${TABS} tabs within ${DUE_S.at(-1)} s; the machine is too busy`);
};

/** Count the refreshes of one client, to which the operator answers after `refreshMs`. */
export const measureTabs = async (comparison: Comparison, peer: Peer, refreshMs = 0): Promise<Measurement> => {
  const opened = await openTabs(comparison, peer, `tabs-${refreshMs}`);
  comparison.refreshMs = refreshMs;
  await sleep(opened.dueAt - Date.now() + 1000);
  if (peer.refreshes === 'call')
    await Promise.all(
      opened.tabs.map((page) =>
        page.evaluate(() => {
          // Not awaited: all requests are sent within the grace, and a slow answer may never reach the client.
          (window as never as Visited).peer.ask().catch(() => {});
        }),
      ),
    );
  // A browser sends six requests at a time over HTTP/1.1.
  await sleep((peer.tickS + GRACE_S) * 1000 + refreshMs);
  const refreshes = comparison.ledger.of(opened.run);
  const reused = refreshes.filter(({ isReuse }) => isReuse).length;
  await opened.profile.close();
  comparison.refreshMs = 0;
  return {
    what: `requests to refresh one identity in ${TABS} tabs, ${peer.label}`,
    value: refreshes.length,
    unit: '',
    beside: `${reused} with a refresh token already used; ${peer.refreshes === 'call' ? 'all tabs called at once; ' : ''}${comparison.engine}`,
    point: { chart: 'tabs', series: peer.label },
  };
};

export const measure = (): Promise<Measurement[]> =>
  inComparison(async (comparison) => {
    const measured: Measurement[] = [];
    for (const peer of peers) measured.push(await measureTabs(comparison, peer));
    return measured;
  });
