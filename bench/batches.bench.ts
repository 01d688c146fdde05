/**
 * How long a refresh on a new connection takes while another participant's batches of 5,000 identifiers run all the time, compared
 * with an idle operator. The operator has a process of its own; this one sends both.
 */

import { figure, type Measurement, median, quantile } from './measure.ts';
import { start } from './support/child.ts';
import { askOnce, openLoad, type Target } from './support/load.ts';

const BATCHES = 4;
const ROUNDS = 6;
const ROUND_MS = 2500;

/** Refreshes one after another for a while; the 99th percentile, ms. */
const refreshes = async (target: Target): Promise<number> => {
  const taken: number[] = [];
  for (const end = performance.now() + ROUND_MS; performance.now() < end; ) taken.push(await askOnce(target));
  return quantile(taken, 0.99);
};

export const measure = async (): Promise<Measurement[]> => {
  const operator = await start<{ refresh: Target; batch: Target }>('batch-operator.ts');
  const { refresh, batch } = operator.message;
  const idle: number[] = [];
  const busy: number[] = [];
  const rates: number[] = [];
  for (let round = -1; round < ROUNDS; round++) {
    const alone = await refreshes(refresh);
    const load = await openLoad(batch, BATCHES);
    const [beside, rate] = await Promise.all([refreshes(refresh), load.run(ROUND_MS)]);
    load.close();
    if (round < 0) continue;
    idle.push(alone);
    busy.push(beside);
    rates.push(rate);
  }
  operator.stop();
  return [
    {
      what: `a refresh on a new connection beside ${BATCHES} batches at a time, 99 %, of an idle operator`,
      value: median(busy.map((ms, round) => ms / idle[round]!)),
      unit: 'x',
      limit: { atMost: 6 },
      beside: `${figure(median(busy))} and ${figure(median(idle))} ms; ${figure(median(rates))} batches/s`,
    },
  ];
};
