/**
 * How long after a token is due its client asks for another, this runtime and its peers: the arrival of the refresh at the
 * service minus the instant that the service itself noted. Eight tabs of each client, all open at the same time, each with a
 * profile of its own; their tokens are due 12 to 42 seconds after the sign-in, so that a client that looks every 5 or every 30
 * seconds is met at every phase. Nothing is accelerated: each client has its default timing, real time passes.
 *
 * "Due" is the instant from which on the client itself replaces a token that it looks at: `refresh_from` of the service, or its
 * own margin before the end (60 s oidc-client-ts and auth0-spa-js, 120 s auth-js). A client that refreshes only when it is called is called when all others have
 * refreshed; what the caller waits for is measured.
 *
 * The floor: a page with a bare `setTimeout` and a bare POST.
 */

import type { Page } from 'playwright-core';
import { figure, type Measurement, median, quantile, sleep, timed } from './measure.ts';
import { type Peer, peers } from './peers/list.ts';
import type { Visited } from './peers/pages/visit.ts';
import { type Comparison, inComparison } from './peers/site.ts';

const TABS = 8;
const FIRST_DUE_S = 12;
const LONGEST_TICK_S = Math.max(...peers.map(({ tickS }) => tickS));
/** Time for a refresh itself, s. */
const GRACE_S = 5;

interface Tab {
  readonly page: Page;
  readonly run: string;
}

const runOf = (name: string, tab: number): string => `late-${name}-${tab}`;
const dueOf = (tab: number): number => FIRST_DUE_S + (tab * LONGEST_TICK_S) / TABS;

/** Sign in on a tab of its own. */
const openTab = async (comparison: Comparison, { name }: Peer, tab: number): Promise<Tab> => {
  const run = runOf(name, tab);
  const page = await comparison.open(await comparison.profile(), { page: name, run, signIn: true, dueS: dueOf(tab) });
  return { page, run };
};

/** A page that does the least: wait with a timer, then send a POST. */
const openBare = async (comparison: Comparison, tab: number): Promise<Tab> => {
  const run = runOf('bare', tab);
  const page = await comparison.open(await comparison.profile(), { page: 'localstorage', run, signIn: true });
  const dueAt = Date.now() + dueOf(tab) * 1000;
  comparison.ledger.issued(run, run, dueAt);
  await page.evaluate(
    ([at, body]) => {
      const issuer = new URLSearchParams(location.search).get('issuer');
      setTimeout(() => fetch(`${issuer}/echo`, { method: 'POST', body }), at - Date.now());
    },
    [dueAt, run] as const,
  );
  return { page, run };
};

/** Lateness of the first refresh of each tab that has refreshed, ms. */
const latenessOf = ({ ledger }: Comparison, tabs: readonly Tab[]): number[] =>
  tabs.flatMap(({ run }) => ledger.of(run).slice(0, 1)).map(({ lateMs }) => lateMs);

/** How long a caller waits for its token, ms, median of the tabs. */
const waitOf = async (tabs: readonly Tab[]): Promise<number> => {
  const waits: number[] = [];
  for (const { page } of tabs)
    waits.push(await timed(() => page.evaluate(() => (window as never as Visited).peer.ask().then(() => undefined))));
  return median(waits);
};

const lineOf = async (
  comparison: Comparison,
  peer: Peer,
  tabs: readonly Tab[],
  floor: string,
): Promise<Measurement[]> => {
  const late = latenessOf(comparison, tabs);
  if (!late.length) {
    const wait = await waitOf(tabs);
    const asked = latenessOf(comparison, tabs).length;
    return [
      {
        what: `refreshes without a call of the page, of ${TABS} tabs, ${peer.label}`,
        value: 0,
        unit: '',
        beside: `called after ${LONGEST_TICK_S} s: ${asked} refreshed, the caller waited ${figure(wait)} ms; ${comparison.engine}`,
      },
    ];
  }
  const line = (what: string, share: number): Measurement => ({
    what: `refresh arrives after it was due: ${what} of ${late.length}, ${peer.label}`,
    value: Math.max(0, quantile(late, share)),
    unit: 'ms',
    beside: `${floor}; ${comparison.engine}`,
    point: { chart: 'lateness', series: peer.label, group: what },
  });
  return [line('median', 0.5), line('worst', 1)];
};

const measureAll = async (comparison: Comparison): Promise<Measurement[]> => {
  const tabs = new Map<Peer, Tab[]>(peers.map((peer) => [peer, []]));
  const bare: Tab[] = [];
  for (let tab = 0; tab < TABS; tab++) {
    bare.push(await openBare(comparison, tab));
    for (const peer of peers) tabs.get(peer)!.push(await openTab(comparison, peer, tab));
  }
  await sleep((dueOf(TABS) + LONGEST_TICK_S + GRACE_S) * 1000);
  const floors = latenessOf(comparison, bare);
  const floor = `bare timer and POST: median ${figure(median(floors))}, worst ${figure(quantile(floors, 1))} ms`;
  const measured: Measurement[] = [];
  for (const [peer, opened] of tabs) measured.push(...(await lineOf(comparison, peer, opened, floor)));
  return [
    ...measured,
    ...[['median', 0.5] as const, ['worst', 1] as const].map(([what, share]) => ({
      what: `bare timer and POST, after it was due: ${what} of ${floors.length}`,
      value: Math.max(0, quantile(floors, share)),
      unit: 'ms',
      beside: comparison.engine,
      point: { chart: 'lateness', series: 'bare timer and POST', group: what },
    })),
  ];
};

export const measure = (): Promise<Measurement[]> => inComparison(measureAll);
