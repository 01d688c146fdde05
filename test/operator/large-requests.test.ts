/** When large requests start. */

import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLargeRequests, LARGE_BYTES } from '../../src/operator/http/large-requests.ts';
import { memoryState } from '../../src/operator/state/memory-state.ts';
import { createTestService } from './fixtures.ts';

type Start = ReturnType<typeof createLargeRequests>;

/** Call the function for requests of these lengths of one participant, and return the list of those that have started. */
const arrive = (start: Start, lengths: readonly number[]) => {
  const started: number[] = [];
  for (const [n, bytes] of lengths.entries()) start(bytes, 'one').then(() => started.push(n));
  return started;
};

const settled = async () => {
  for (let i = 0; i < 10; i++) await undefined;
};

test('the first large request and every small one start without a pause', async () => {
  const started = arrive(createLargeRequests(), [LARGE_BYTES, LARGE_BYTES, LARGE_BYTES - 1, 0]);
  await settled();
  expect(started.toSorted()).toEqual([0, 2, 3]);
});

test('large requests start in their order, one in a turn of the event loop', async () => {
  const started = arrive(
    createLargeRequests(),
    [1, 2, 3, 4].map((times) => times * LARGE_BYTES),
  );
  let before = 0;
  while (started.length < 4) {
    await turn();
    expect(started.length - before).toBeLessThanOrEqual(1);
    before = started.length;
  }
  expect(started).toEqual([0, 1, 2, 3]);
});

test('participants take turns, also one that comes later', async () => {
  const start = createLargeRequests();
  const started: string[] = [];
  const add = (names: string) =>
    Promise.all([...names].map((name) => start(LARGE_BYTES, name).then(() => started.push(name))));
  const first = add('AAAABBC');
  while (started.length < 2) await turn();
  await Promise.all([first, add('DD')]);
  expect(started.join('')).toBe('AABCADBAD');
});

test('a large request that arrives after all others have started starts without a pause', async () => {
  const start = createLargeRequests();
  await Promise.all([start(LARGE_BYTES, 'one'), start(LARGE_BYTES, 'one')]);
  // Timers of the same length fire in the order in which they were set, so the queue is idle after a few.
  for (let i = 0; i < 10; i++) await pause();
  const started = arrive(start, [LARGE_BYTES]);
  await settled();
  expect(started).toEqual([0]);
});

test('large batches that arrive together are mapped in different turns of the event loop', async () => {
  const { optOuts, ...state } = memoryState();
  const mappedIn: number[] = [];
  let turns = 0;
  let counter = setImmediate(function count() {
    turns++;
    counter = setImmediate(count);
  });
  const service = createTestService({
    state: {
      ...state,
      optOuts: {
        ...optOuts,
        isAbsent: () => false,
        since: (users: readonly string[]) => {
          mappedIn.push(turns);
          return optOuts.since(users);
        },
      },
    },
  });
  const email = Array.from({ length: 1000 }, (_, at) => `user${at}@example.com`);
  const answers = await Promise.all([1, 2, 3].map(() => service.call('/v3/identity/map', { email })));
  clearImmediate(counter);
  expect(answers.map(({ http }) => http)).toEqual([200, 200, 200]);
  expect(new Set(mappedIn).size).toBe(3);
});
