import { describe, expect, test } from 'vitest';
import { createGate } from '../../src/server/gate.ts';
import { TokenError } from '../../src/token/errors.ts';
import { rejectionOf } from './scripted-service.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Works that wait to be ended by hand. */
const worksAt = (most: number) => {
  const gate = createGate(most);
  const open: { resolve: () => void; reject: (e: unknown) => void }[] = [];
  const begin = (count: number) => {
    for (let i = 0; i < count; i++)
      gate
        .pass(
          () => new Promise<void>((resolve, reject) => open.push({ resolve, reject })),
          new AbortController().signal,
        )
        .catch(() => {});
  };
  /** End everything inside, one way or the other. */
  const end = async (error?: unknown) => {
    for (const work of open.splice(0)) error ? work.reject(error) : work.resolve();
    await turn();
  };
  return { gate, open, begin, end };
};
const limited = () => new TokenError('rate_limited', '', { status: 429 });

describe('gate', () => {
  test('lets as many in as there is room for, and the next as one leaves, in order', async () => {
    const { open, begin } = worksAt(2);
    begin(4);
    await turn();
    expect(open).toHaveLength(2);
    open[0]!.resolve();
    await turn();
    expect(open).toHaveLength(3);
  });

  test('halves once for a burst of refusals, and never below one', async () => {
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

  test('grows by about one for each round of successes, back to its limit and no further', async () => {
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

  test('other failures leave the room as it is', async () => {
    const { open, begin, end } = worksAt(4);
    begin(8);
    await turn();
    await end(new TokenError('network', 'lost'));
    expect(open).toHaveLength(4);
  });

  test('an abort while waiting rejects with its reason and gives the place up', async () => {
    const { gate, open, begin } = worksAt(1);
    begin(1);
    await turn();
    const controller = new AbortController();
    const waiting = rejectionOf(gate.pass(async () => expect.unreachable(), controller.signal));
    begin(1);
    const reason = new Error('stop');
    controller.abort(reason);
    expect(await waiting).toBe(reason);
    open[0]!.resolve();
    await turn();
    expect(open).toHaveLength(2);
  });

  test('an abort after entering takes nobody else’s place', async () => {
    const { gate, open, begin } = worksAt(1);
    const controller = new AbortController();
    const inside = gate.pass(
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
