/**
 * Token in hand on a return visit: this runtime, its peers, and a bare read of IndexedDB and of localStorage, in turns. From the
 * end of the response with the client's script to the token that is readable, in a new page of a profile that has signed in; and
 * how long the main thread is busy until then, by Chromium's trace. Unthrottled, and with the CPU throttled 4 times.
 */

import assert from 'node:assert/strict';
import { figure, type Measurement, median } from './measure.ts';
import { type PageName, peers } from './peers/list.ts';
import { type Comparison, inComparison } from './peers/site.ts';
import { mainThreadOf, startVisitor, type Visitor } from './peers/visits.ts';
import { CPU } from './report/tables.ts';

const ROUNDS = 10;
const TRACED_ROUNDS = 5;
const WARM_UP = 1;
const THROTTLING = [1, 4] as const;
const GROUPS = { 1: CPU[0], 4: CPU[1] };
type Throttling = (typeof THROTTLING)[number];

const LABELS: Partial<Record<PageName, string>> = {
  ...Object.fromEntries(peers.map(({ name, label }) => [name, label])),
  indexeddb: 'bare read of IndexedDB',
  localstorage: 'bare read of localStorage',
};
const FLOOR: PageName = 'indexeddb';

type Values = ReadonlyMap<PageName, readonly number[]>;

/** Visit all pages in turns, each round in another order. Returns ms by page, in the order of the rounds. */
async function inTurns(visitors: readonly Visitor[], throttling: number): Promise<Values> {
  const measured = new Map<PageName, number[]>(visitors.map(({ name }) => [name, []]));
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const shift = round % visitors.length;
    for (const visitor of [...visitors.slice(shift), ...visitors.slice(0, shift)]) {
      const ms = await visitor.tokenMs(throttling);
      if (round >= WARM_UP) measured.get(visitor.name)!.push(ms);
    }
  }
  return measured;
}

/** The same with a trace, which slows the pages somewhat. Returns ms of the main thread. */
async function traced(visitors: readonly Visitor[], throttling: number): Promise<Values> {
  const busy = await mainThreadOf(visitors[0]!.profile, async () => {
    for (let round = 0; round < TRACED_ROUNDS; round++)
      for (const visitor of visitors) await visitor.tokenMs(throttling);
  });
  assert.equal(busy.length, TRACED_ROUNDS * visitors.length);
  return new Map(visitors.map(({ name }, i) => [name, busy.filter((_, at) => at % visitors.length === i)]));
}

const tokenInHand = async (
  visitors: readonly Visitor[],
  throttling: Throttling,
  engine: string,
): Promise<Measurement[]> => {
  const measured = await inTurns(visitors, throttling);
  const floor = measured.get(FLOOR)!;
  return visitors
    .filter(({ name }) => name !== FLOOR)
    .map(({ name }) => {
      const ms = measured.get(name)!;
      const value = median(ms.map((one, round) => one / floor[round]!));
      const text = `${figure(value)} (${figure(median(ms))} ms)`;
      return {
        what: `time to the token, ${GROUPS[throttling]}, ${LABELS[name]}, of a bare read of IndexedDB`,
        value,
        unit: '',
        beside: `${figure(median(ms))} and ${figure(median(floor))} ms; ${engine}`,
        point: { chart: 'token-in-hand', series: LABELS[name]!, group: GROUPS[throttling], text },
      };
    });
};

const mainThread = async (
  visitors: readonly Visitor[],
  throttling: Throttling,
  engine: string,
): Promise<Measurement[]> => {
  const measured = await traced(visitors, throttling);
  const ours = measured.get('tessera')!;
  return visitors.map(({ name }) => {
    const ms = measured.get(name)!;
    const value = median(ms);
    return {
      what: `main thread until the token is in hand, ${GROUPS[throttling]}, ${LABELS[name]}`,
      value,
      unit: 'ms',
      beside: `${figure(median(ms.map((one, round) => one / ours[round]!)))} of Tessera's; ${engine}`,
      point: { chart: 'main-thread', series: LABELS[name]!, group: GROUPS[throttling] },
    };
  });
};

const measureAll = async (comparison: Comparison): Promise<Measurement[]> => {
  const visitors: Visitor[] = [];
  const names: readonly PageName[] = [...peers.map(({ name }) => name), FLOOR, 'localstorage'];
  for (const name of names) visitors.push(await startVisitor(comparison, name));
  const measured: Measurement[] = [];
  for (const throttling of THROTTLING)
    measured.push(
      ...(await tokenInHand(visitors, throttling, comparison.engine)),
      ...(await mainThread(visitors, throttling, comparison.engine)),
    );
  return measured;
};

export const measure = (): Promise<Measurement[]> => inComparison(measureAll);
