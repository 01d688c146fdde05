/** Which requests are answered together. */

import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { createRequestBatches } from '../../src/operator/http/request-batches.ts';

let join: ReturnType<typeof createRequestBatches>;
let started: number[];
beforeEach(() => {
  join = createRequestBatches(setImmediate);
  started = [];
});

const arrive = (count: number): Promise<void>[] =>
  Array.from({ length: count }, async (_, request) => {
    await join();
    started.push(request);
  });

const settled = () => Promise.resolve();

test('requests that arrive together start together, after the last of them has arrived', async () => {
  const first = arrive(2);
  await settled();
  expect(started).toEqual([]);
  await Promise.all([...first, ...arrive(1)]);
  expect(started).toEqual([0, 1, 0]);
});

test('a request that arrives alone starts in the same turn of the event loop', async () => {
  arrive(1);
  await turn();
  expect(started).toEqual([0]);
});

test('a full batch starts at once, and further requests form the next one', async () => {
  arrive(33);
  await settled();
  await settled();
  expect(started).toEqual(Array.from({ length: 32 }, (_, request) => request));
  await turn();
  expect(started).toHaveLength(33);
});

test('a full batch delays no later one', async () => {
  arrive(32);
  setImmediate(() => arrive(1));
  arrive(1);
  await turn();
  expect(started).toHaveLength(34);
});

test('every request of a thousand starts once', async () => {
  await Promise.all(arrive(1000));
  expect(started.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, request) => request));
});
