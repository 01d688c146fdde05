import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Rows, resultsOf } from '../../src/server/bulk/results.ts';
import { rejectionOf } from './scripted-service.ts';

const rowsOf = (batch: readonly number[]): Rows<number> => ({ length: batch.length, at: (i) => batch[i]! });

/** Results of batches that arrive one event-loop turn apart; the batch `fail` is a failure. `state` describes the source. */
const resultsIn = (batches: readonly (readonly number[] | 'fail')[]) => {
  const state = { read: 0, closed: false };
  const results = resultsOf(async function* () {
    try {
      for (const batch of batches) {
        await new Promise((resolve) => setImmediate(resolve));
        state.read++;
        if (batch === 'fail') throw new Error('failed');
        yield rowsOf(batch);
      }
    } finally {
      state.closed = true;
    }
  });
  return { state, results };
};

async function* plainly(batches: AsyncIterable<readonly number[]>) {
  for await (const batch of batches) yield* batch;
}

describe('results one by one', () => {
  test('overlapping and successive calls settle as those of an async generator, in the same order', async () => {
    const batch = fc.oneof(
      { weight: 5, arbitrary: fc.array(fc.nat(), { maxLength: 4 }) },
      fc.constant('fail' as const),
    );
    /** Each step: ask for the next one or end the reading; then wait for all answers so far, or do not. */
    const step = fc.tuple(fc.oneof({ weight: 9, arbitrary: fc.constant('next') }, fc.constant('return')), fc.boolean());
    const walk = async (iterator: AsyncIterator<number>, steps: readonly (readonly [string, boolean])[]) => {
      const told: string[] = [];
      const answers: Promise<unknown>[] = [];
      for (const [i, [name, wait]] of steps.entries()) {
        const answer = name === 'next' ? iterator.next() : iterator.return!();
        const tell = (word: string) => told.push(`${i} ${word}`);
        answers.push(
          answer.then(
            (result) => tell(JSON.stringify(result)),
            (e: Error) => tell(e.message),
          ),
        );
        if (wait) await Promise.all(answers);
      }
      await Promise.all(answers);
      return told;
    };
    await fc.assert(
      fc.asyncProperty(fc.array(batch, { maxLength: 5 }), fc.array(step, { maxLength: 15 }), async (batches, steps) => {
        const ours = await walk(resultsIn(batches).results[Symbol.asyncIterator](), steps);
        expect(ours).toEqual(await walk(plainly(resultsIn(batches).results.batches()), steps));
      }),
    );
  });

  test('a reader that stops closes the source', async () => {
    const { state, results } = resultsIn([[1, 2], [3], [4]]);
    const read: number[] = [];
    for await (const n of results) if (read.push(n) === 3) break;
    expect(read).toEqual([1, 2, 3]);
    expect(state).toEqual({ read: 2, closed: true });
  });

  test('a failure comes after the results before it and ends the iteration', async () => {
    const iterator = resultsIn([[1], 'fail', [2]]).results[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ value: 1, done: false });
    expect((await rejectionOf(iterator.next())).message).toBe('failed');
    expect(await iterator.next()).toEqual({ value: undefined, done: true });
  });
});

test('batches(), iteration, toArray() and await return the same results', async () => {
  const batches = [[1, 2], [], [3]];
  const { results } = resultsIn(batches);
  const read: (readonly number[])[] = [];
  for await (const batch of results.batches()) read.push(batch);
  expect(read).toEqual(batches);
  expect(await results.toArray()).toEqual([1, 2, 3]);
  expect(await results).toEqual([1, 2, 3]);
});
