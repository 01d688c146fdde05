import { describe, expect, test } from 'vitest';
import { createConcurrencyLimiter } from '../../src/server/bulk/concurrency.ts';
import { TokenError } from '../../src/token/errors.ts';
import { rejectionOf } from './scripted-service.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

const worksAt = (most: number) => {
  const limiter = createConcurrencyLimiter(most);
  const open: { resolve: () => void; reject: (e: unknown) => void }[] = [];
  const begin = (count: number) => {
    for (let i = 0; i < count; i++)
      limiter
        .run(() => new Promise<void>((resolve, reject) => open.push({ resolve, reject })), new AbortController().signal)
        .catch(() => {});
  };
  const end = async (error?: unknown) => {
    for (const work of open.splice(0)) error ? work.reject(error) : work.resolve();
    await turn();
  };
  return { limiter, open, begin, end };
};
const limited = () => new TokenError('rate_limited', '', { status: 429 });

describe('a concurrency limiter', () => {
  test('runs as many tasks as its limit, then starts one for each that ends, in order', async () => {
    const limiter = createConcurrencyLimiter(2);
    const started: number[] = [];
    const ends: (() => void)[] = [];
    for (let n = 0; n < 5; n++)
      void limiter.run(async () => {
        started.push(n);
        await new Promise<void>((resolve) => ends.push(resolve));
      }, new AbortController().signal);
    for (const expected of [
      [0, 1],
      [0, 1, 2],
      [0, 1, 2, 3],
      [0, 1, 2, 3, 4],
    ]) {
      await turn();
      expect(started).toEqual(expected);
      ends.shift()!();
    }
  });

  test('halves the limit once for a burst of 429s, and never below one', async () => {
    const { open, begin, end } = worksAt(8);
    const sizes: number[] = [];
    begin(8);
    await turn();
    for (let round = 0; round < 5; round++) {
      await end(limited());
      begin(8);
      await turn();
      sizes.push(open.length);
    }
    expect(sizes).toEqual([4, 2, 1, 1, 1]);
  });

  test('raises the limit by about one for each round of successes, up to its maximum', async () => {
    const { open, begin, end } = worksAt(4);
    begin(4);
    await turn();
    await end(limited());
    begin(60);
    await turn();
    const sizes: number[] = [];
    for (let round = 0; round < 8; round++) {
      sizes.push(open.length);
      await end();
    }
    expect(sizes[0]).toBe(2);
    expect(Math.max(...sizes)).toBe(4);
    expect(sizes.at(-1)).toBe(4);
    expect(sizes).toEqual([...sizes].sort());
  });

  test('other failures do not change the limit', async () => {
    const { open, begin, end } = worksAt(4);
    begin(8);
    await turn();
    await end(new TokenError('network', 'lost'));
    expect(open).toHaveLength(4);
  });

  test('an abort while waiting rejects with its reason and leaves the queue', async () => {
    const { limiter, open, begin } = worksAt(1);
    begin(1);
    await turn();
    const controller = new AbortController();
    const waiting = rejectionOf(limiter.run(async () => expect.unreachable(), controller.signal));
    begin(1);
    const reason = new Error('stop');
    controller.abort(reason);
    expect(await waiting).toBe(reason);
    open[0]!.resolve();
    await turn();
    expect(open).toHaveLength(2);
  });

  test('a task whose signal is aborted already does not wait for its turn', async () => {
    const { limiter, begin } = worksAt(1);
    begin(1);
    await turn();
    const reason = new Error('stop');
    const refused = rejectionOf(limiter.run(async () => expect.unreachable(), AbortSignal.abort(reason)));
    expect(await refused).toBe(reason);
  });

  test('an abort after the start removes no other task from the queue', async () => {
    const { limiter, open, begin } = worksAt(1);
    const controller = new AbortController();
    const inside = limiter.run(
      () => new Promise<void>((resolve, reject) => open.push({ resolve, reject })),
      controller.signal,
    );
    begin(1);
    await turn();
    controller.abort();
    open[0]!.resolve();
    await inside;
    await turn();
    expect(open).toHaveLength(2);
  });
});
