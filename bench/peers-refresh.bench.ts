/**
 * What a refresh costs a page, this runtime and its peers, in turns: from the call to the new token stored and readable. The
 * floor is a bare POST of the same size to the same server. Prebid's module cannot be told to refresh a token that is not due.
 */

import type { Page } from 'playwright-core';
import { figure, type Measurement, median } from './measure.ts';
import { type PageName, peers } from './peers/list.ts';
import type { Visited } from './peers/pages/visit.ts';
import { type Comparison, inComparison } from './peers/site.ts';

const ROUNDS = 20;
const WARM_UP = 3;
const FLOOR: PageName = 'localstorage';

const openPage = async (comparison: Comparison, name: PageName): Promise<Page> => {
  const profile = await comparison.profile();
  const visit = { page: name, run: `refresh-${name}` };
  await (await comparison.open(profile, { ...visit, signIn: true })).close();
  return comparison.open(profile, visit);
};

/** Refresh once; ms by the page's own clock. */
const refresh = (page: Page): Promise<number> =>
  page.evaluate(async () => {
    const start = performance.now();
    await (window as never as Visited).peer.refresh!();
    return performance.now() - start;
  });

const measureAll = async (comparison: Comparison): Promise<Measurement[]> => {
  const compared = peers.filter(({ name }) => name !== 'prebid');
  const pages = new Map<PageName, Page>();
  for (const name of [...compared.map(({ name }) => name), FLOOR]) pages.set(name, await openPage(comparison, name));
  const measured = new Map<PageName, number[]>([...pages.keys()].map((name) => [name, []]));
  const order = [...pages];
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const shift = round % order.length;
    for (const [name, page] of [...order.slice(shift), ...order.slice(0, shift)]) {
      const ms = await refresh(page);
      if (round >= WARM_UP) measured.get(name)!.push(ms);
    }
  }
  const floor = measured.get(FLOOR)!;
  return compared.map(({ name, label }) => {
    const ms = measured.get(name)!;
    const value = median(ms.map((one, round) => one / floor[round]!));
    return {
      what: `refresh by a call, ${label}, of a bare POST`,
      value,
      unit: '',
      beside: `${figure(median(ms))} and ${figure(median(floor))} ms; ${comparison.engine}`,
      point: { chart: 'refresh', series: label, text: `${figure(value)} (${figure(median(ms))} ms)` },
    };
  });
};

export const measure = (): Promise<Measurement[]> => inComparison(measureAll);
