import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  batchesOf,
  createCapacity,
  inOrder as inOrderOf,
  jsonBytes,
  MAX_ITEMS,
  type Source,
} from '../../src/server/bulk/batch.ts';
import { rejectionOf } from './scripted-service.ts';

/** Starts batches of numbers: each number counts as `bytes`, a request holds `maxBytes`. */
const sized =
  (bytes: number, maxBytes = 1e9) =>
  () => {
    const reserve = createCapacity(maxBytes);
    const items: number[] = [];
    return {
      items,
      add: (item: number) => {
        const isAdded = reserve(bytes);
        if (isAdded) items.push(item);
        return isAdded;
      },
    };
  };
const split = async (source: Source<number>, bytes: number, maxBytes?: number): Promise<number[][]> =>
  (await listOf(batchesOf(source, sized(bytes, maxBytes)))).map(({ items }) => items);
/** {@link inOrderOf} with results that need no parsing. */
const inOrder = <B, R>(
  batches: AsyncGenerator<B, void, undefined>,
  max: number,
  outer: AbortSignal | undefined,
  work: (batch: B, signal: AbortSignal) => Promise<R>,
) =>
  inOrderOf(batches, max, outer, async (batch, signal) => {
    const result = await work(batch, signal);
    return () => result;
  });
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);
const listOf = async <T>(source: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const item of source) all.push(item);
  return all;
};
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A source that records how far it was read and whether it was closed. */
const watched = (count: number) => {
  const state = { read: 0, closed: false };
  function* source() {
    try {
      for (; state.read < count; ) yield state.read++;
    } finally {
      state.closed = true;
    }
  }
  return { state, source: source() };
};

describe('batchesOf', () => {
  test('splits at 5,000 items', async () => {
    const lengths = async (count: number) => (await split(numbers(count), 1)).map((batch) => batch.length);
    expect(await lengths(0)).toEqual([]);
    expect(await lengths(MAX_ITEMS)).toEqual([5000]);
    expect(await lengths(12_001)).toEqual([5000, 5000, 2001]);
  });

  test('splits before a batch exceeds the byte limit', async () => {
    expect(await split(numbers(5), 10, 20)).toEqual([[0, 1], [2, 3], [4]]);
    expect(await split(numbers(3), 10, 19)).toEqual([[0], [1], [2]]);
  });

  test.each<[string, () => Source<number>]>([
    ['an array', () => numbers(3)],
    ['a set', () => new Set(numbers(3))],
    ['a generator', () => watched(3).source],
    [
      'an async generator',
      async function* () {
        yield* numbers(3);
      },
    ],
    ['a stream', () => new Blob(['0,1,2']).stream() as never],
  ])('reads %s', async (name, source) => {
    const batches = await split(source(), 1);
    expect(batches).toHaveLength(1);
    if (name !== 'a stream') expect(batches[0]).toEqual([0, 1, 2]);
  });

  test('does not close a source that has thrown', async () => {
    let closed = 0;
    const failing: AsyncIterable<number> = {
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.reject(new Error('disk')),
        return: async () => ({ value: closed++, done: true }),
      }),
    };
    expect((await rejectionOf(split(failing, 1))).message).toBe('disk');
    expect(closed).toBe(0);
  });

  test('closes the source if the reader stops early or an item is refused', async () => {
    const left = watched(100_000);
    for await (const _ of batchesOf(left.source, sized(1))) break;
    expect(left.state.closed).toBe(true);
    const refused = watched(10);
    const refusing = batchesOf(refused.source, () => ({
      add: () => {
        throw new TypeError('no');
      },
    }));
    expect(await rejectionOf(listOf(refusing))).toBeInstanceOf(TypeError);
    expect(refused.state.closed).toBe(true);
  });
});

test('jsonBytes equals the bytes that one more string adds to a JSON array, for any string', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.base64String());
  fc.assert(
    fc.property(text, (given) => {
      const [one, two] = [[given], [given, given]].map((list) => Buffer.byteLength(JSON.stringify(list)));
      expect(jsonBytes(given)).toBe(two! - one!);
    }),
  );
});

async function* each(source: Source<number>) {
  for await (const item of source) yield item;
}

describe('inOrder', () => {
  test('yields results in the order of the batches, whichever finishes first', async () => {
    const ends: (() => void)[] = [];
    const work = (n: number) => new Promise<number>((resolve) => ends.push(() => resolve(n)));
    const results = listOf(inOrder(each(numbers(4)), 4, undefined, work));
    await turn();
    for (const end of ends.reverse()) end();
    expect(await results).toEqual([0, 1, 2, 3]);
  });

  test('parses a result when the reader reaches it, not before', async () => {
    const taken: number[] = [];
    const work = async (n: number) => () => taken.push(n);
    const reading = inOrderOf(each(numbers(3)), 3, undefined, work);
    await reading.next();
    await turn();
    expect(taken).toEqual([0]);
    await listOf(reading);
    expect(taken).toEqual([0, 1, 2]);
  });

  test('a result that fails to parse is thrown at its position', async () => {
    const work = async (n: number) => () => {
      if (n === 2) throw new Error('third');
      return n;
    };
    const { state, source } = watched(1000);
    const got: number[] = [];
    const reading = async () => {
      for await (const n of inOrderOf(each(source), 5, undefined, work)) got.push(n);
    };
    expect((await rejectionOf(reading())).message).toBe('third');
    expect(got).toEqual([0, 1]);
    await turn();
    expect(state.closed).toBe(true);
  });

  test('holds no more batches than allowed if the reader is slow', async () => {
    const { state, source } = watched(1000);
    let inside = 0;
    let most = 0;
    const work = async (n: number) => {
      most = Math.max(most, ++inside);
      await turn();
      inside--;
      return n;
    };
    let read = 0;
    for await (const _ of inOrder(each(source), 5, undefined, work)) {
      read++;
      await turn();
      await turn();
      expect(state.read - read).toBeLessThanOrEqual(6);
    }
    expect(read).toBe(1000);
    expect(most).toBe(5);
  });

  test('yields a finished result while the source is still producing the next batch', async () => {
    async function* slow() {
      yield 0;
      await new Promise(() => {});
    }
    const reading = inOrder(slow(), 5, undefined, async (n) => n);
    expect(await reading.next()).toEqual({ value: 0, done: false });
  });

  test('throws a failure at its position and aborts the batches behind it', async () => {
    const signals: AbortSignal[] = [];
    const work = async (n: number, signal: AbortSignal) => {
      signals.push(signal);
      if (n === 2) {
        await turn();
        throw new Error('third');
      }
      if (n > 2) await new Promise(() => {});
      return n;
    };
    const { state, source } = watched(1000);
    const got: number[] = [];
    const reading = async () => {
      for await (const n of inOrder(each(source), 5, undefined, work)) got.push(n);
    };
    expect((await rejectionOf(reading())).message).toBe('third');
    expect(got).toEqual([0, 1]);
    expect(signals.length).toBeGreaterThan(3);
    expect(signals.slice(3).every((signal) => signal.aborted)).toBe(true);
    await turn();
    expect(state.closed).toBe(true);
  });

  test('aborts what is left of a batch that has failed', async () => {
    let signal: AbortSignal | undefined;
    const reason = new Error('one of two requests');
    const work = async (_: number, given: AbortSignal) => {
      signal = given;
      throw reason;
    };
    expect(await rejectionOf(listOf(inOrder(each([1]), 1, undefined, work)))).toBe(reason);
    expect(signal?.reason).toBe(reason);
  });

  test('the failure of a source comes after the results of the items before it', async () => {
    function* failing() {
      yield* numbers(3);
      throw new Error('disk');
    }
    const got: number[] = [];
    const reading = async () => {
      for await (const n of inOrder(each(failing()), 5, undefined, async (n) => n)) got.push(n);
    };
    expect((await rejectionOf(reading())).message).toBe('disk');
    expect(got).toEqual([0, 1, 2]);
  });

  test('a reader that stops early aborts the batches in flight and closes the source', async () => {
    const signals: AbortSignal[] = [];
    const { state, source } = watched(1000);
    const work = async (n: number, signal: AbortSignal) => {
      signals.push(signal);
      return n;
    };
    for await (const n of inOrder(each(source), 3, undefined, work)) if (n === 1) break;
    // The first two were read and have finished.
    expect(signals.slice(2).every((signal) => signal.aborted)).toBe(true);
    expect(state.closed).toBe(true);
  });

  test('a batch that arrives after the reader has stopped is not processed', async () => {
    let give = () => {};
    async function* late() {
      yield 0;
      await new Promise<void>((resolve) => (give = resolve));
      yield 1;
    }
    const worked: number[] = [];
    const work = async (n: number) => worked.push(n);
    for await (const _ of inOrder(late(), 3, undefined, work)) break;
    give();
    await turn();
    expect(worked).toEqual([0]);
  });

  test('an abort rejects with its reason, even if the source or the work never settles', async () => {
    const hanging = new Promise<never>(() => {});
    async function* stuck() {
      await hanging;
      yield 0;
    }
    for (const reading of [
      (signal: AbortSignal) => inOrder(stuck(), 3, signal, async (n) => n),
      (signal: AbortSignal) => inOrder(each([1]), 3, signal, () => hanging),
    ]) {
      const controller = new AbortController();
      const reason = new Error('stop');
      const rejection = rejectionOf(listOf(reading(controller.signal)));
      await turn();
      controller.abort(reason);
      expect(await rejection).toBe(reason);
    }
  });

  test('a failure after the reader has stopped is not an unhandled rejection', async () => {
    const unhandled: unknown[] = [];
    const listen = (e: unknown) => unhandled.push(e);
    process.on('unhandledRejection', listen);
    const work = async (n: number) => {
      if (n > 0) throw new Error('late');
      return n;
    };
    for await (const _ of inOrder(each(numbers(5)), 5, undefined, work)) break;
    await turn();
    process.off('unhandledRejection', listen);
    expect(unhandled).toEqual([]);
  });
});
