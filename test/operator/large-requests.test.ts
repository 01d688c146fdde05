/** When large requests start. */

import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { CallerGone, createLargeRequests, LARGE_BYTES, WORK_MS } from '../../src/operator/http/large-requests.ts';
import { listen } from '../../src/operator/node.ts';
import { memoryState } from '../../src/operator/state/memory-state.ts';
import { toB64 } from '../../src/token/bytes.ts';
import { createTestService, envelope, NOON } from './fixtures.ts';

type Start = ReturnType<typeof createLargeRequests>;

const isGone = () => false;

/** Call the function for requests of these lengths of one participant, and return the list of those that have started. */
const arrive = (start: Start, lengths: readonly number[]) => {
  const started: number[] = [];
  for (const [n, bytes] of lengths.entries())
    start({ bodyBytes: bytes, participant: 'one', isGone }).then(() => started.push(n));
  return started;
};

/** An operator that reports each look-up of opt-outs: half-way through a batch, whose identifiers are then hashed but not mapped. */
const createWatchedService = (onLookUp: () => void) => {
  const { optOuts, ...state } = memoryState();
  const since = (users: readonly string[]) => {
    onLookUp();
    return optOuts.since(users);
  };
  return createTestService({ state: { ...state, optOuts: { ...optOuts, since } } });
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
    Promise.all(
      [...names].map((name) =>
        start({ bodyBytes: LARGE_BYTES, participant: name, isGone }).then(() => started.push(name)),
      ),
    );
  const first = add('AAAABBC');
  while (started.length < 2) await turn();
  await Promise.all([first, add('DD')]);
  expect(started.join('')).toBe('AABCADBAD');
});

test('a large request that arrives after all others have started starts without a pause', async () => {
  const start = createLargeRequests();
  const large = { bodyBytes: LARGE_BYTES, participant: 'one', isGone };
  await Promise.all([start(large), start(large)]);
  // The queue is idle after a few turns.
  for (let i = 0; i < 10; i++) await pause();
  const started = arrive(start, [LARGE_BYTES]);
  await settled();
  expect(started).toEqual([0]);
});

test('a request that has worked for WORK_MS lets other participants work, and continues before the next one of its own', async () => {
  let now = 0;
  const start = createLargeRequests(() => now);
  const worked: string[] = [];
  const work = async (name: string) => {
    const pause = await start({ bodyBytes: LARGE_BYTES, participant: name[0]!, isGone });
    for (let part = 1; part <= 2; part++) {
      worked.push(`${name}, part ${part}`);
      now += WORK_MS / 2;
      expect(pause()).toBeUndefined();
      now += WORK_MS / 2;
      await pause();
    }
  };
  await Promise.all(['A1', 'B1', 'A2'].map(work));
  expect(worked).toEqual(['A1, part 1', 'B1, part 1', 'A1, part 2', 'B1, part 2', 'A2, part 1', 'A2, part 2']);
});

test('a small request pauses too, until the event loop has had a turn', async () => {
  let now = 0;
  const pause = await createLargeRequests(() => now)({ bodyBytes: 0, participant: 'one', isGone });
  let turns = 0;
  setImmediate(() => turns++);
  now = 1;
  await pause();
  expect(turns).toBe(1);
  expect(pause()).toBeUndefined();
});

test('small requests that keep coming do not hold up a batch of the same participant', async () => {
  let now = 0;
  const start = createLargeRequests(() => now);
  const work = async (bodyBytes: number, parts: number) => {
    const pause = await start({ bodyBytes, participant: 'one', isGone });
    for (let part = 0; part < parts; part++) {
      now += 1;
      await pause();
    }
  };
  let isMapped = false;
  const batch = work(LARGE_BYTES, 20).then(() => (isMapped = true));
  let small = 0;
  const keepAsking = async () => {
    while (!isMapped) {
      await work(100, 3);
      small++;
    }
  };
  await Promise.all([batch, keepAsking(), keepAsking()]);
  expect(small).toBeGreaterThan(6);
  expect(small).toBeLessThan(20);
});

test('a request whose caller has gone while it waited does not start', async () => {
  const start = createLargeRequests();
  const first = start({ bodyBytes: LARGE_BYTES, participant: 'one', isGone });
  const second = start({ bodyBytes: LARGE_BYTES, participant: 'one', isGone: () => true });
  await first;
  await expect(second).rejects.toThrow(CallerGone);
});

test('a batch whose caller has closed the connection ends, and the metrics say so', async () => {
  const caller = new AbortController();
  const service = createWatchedService(() => caller.abort());
  const server = await listen(service.operator, { port: 0, graceMs: 0 });
  onTestFinished(() => server.close());
  const { apiKey, clientSecret } = service.participant;
  const email = Array.from({ length: 5000 }, (_, at) => `user${at}@example.com`);
  const body = toB64(await envelope({ email }, clientSecret, NOON));
  const headers = { authorization: `Bearer ${apiKey}` };
  const asked = fetch(`${server.url}/v3/identity/map`, { method: 'POST', body, headers, signal: caller.signal });
  await expect(asked).rejects.toThrow('aborted');
  const metrics = async () => (await fetch(`${server.url}/metrics`)).text();
  await expect.poll(metrics).toMatch(/path="\/v3\/identity\/map",http="499"/);
  expect(await metrics()).not.toMatch(/identifiers_mapped_total\{.*result="mapped"\} [1-9]/);
});

test('large batches that arrive together are mapped in different turns of the event loop', async () => {
  const mappedIn: number[] = [];
  let turns = 0;
  let counter = setImmediate(function count() {
    turns++;
    counter = setImmediate(count);
  });
  const service = createWatchedService(() => mappedIn.push(turns));
  const email = Array.from({ length: 1000 }, (_, at) => `user${at}@example.com`);
  const answers = await Promise.all([1, 2, 3].map(() => service.call('/v3/identity/map', { email })));
  clearImmediate(counter);
  expect(answers.map(({ http }) => http)).toEqual([200, 200, 200]);
  expect(new Set(mappedIn).size).toBe(3);
});
