/** What happens when two things happen at once: closing, consent, odd stores, and a promise that is still under way. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { START, useFakeClock } from '../support/scene.ts';
import { createStage, recordOf, rotate, strike, success, watchRejections } from './stage.ts';

beforeEach(() => void useFakeClock());
afterEach(strike);

test('closing right after refresh() sends nothing, and says that it is closed', async () => {
  const stage = createStage(rotate);
  const { session } = stage.open({ store: memoryStore(recordOf(1)) });
  await session.ready;
  const refreshed = session.refresh();
  session.close();
  await expect(refreshed).rejects.toMatchObject({ code: 'closed' });
  await stage.rest();
  expect(stage.sent).toHaveLength(0);
});

test('consent withdrawn right after refresh() leaves provide unasked', async () => {
  const stage = createStage(rotate);
  const provide = vi.fn(async () => success(1));
  let decide = (_: boolean) => {};
  const { session } = stage.open({
    provide,
    store: memoryStore({ ...recordOf(1), set: undefined, clearedAt: START }),
    consent: (onChange) => {
      decide = onChange;
      return true;
    },
  });
  await session.ready;
  await stage.rest();
  provide.mockClear();
  const refreshed = session.refresh();
  decide(false);
  await expect(refreshed).rejects.toMatchObject({ code: 'no_consent' });
  await stage.rest();
  expect(provide).not.toHaveBeenCalled();
});

test('consent that changes after closing is of no concern', async () => {
  const { seen, stop } = watchRejections();
  const stage = createStage(rotate);
  let decide = (_: boolean) => {};
  const store = { ...memoryStore(recordOf(1)), close: vi.fn() };
  const { session } = stage.open({
    store,
    consent: (onChange) => {
      decide = onChange;
      return true;
    },
  });
  await session.ready;
  session.close();
  await stage.rest();
  decide(false);
  await stage.rest();
  expect(await store.read()).toMatchObject({ set: {} });
  stop();
  expect(seen).toEqual([]);
});

test.each([
  [
    'whose update brings nothing back',
    { update: async (change: (stored: unknown) => unknown) => void change(undefined) },
  ],
  [
    'whose closing fails',
    {
      close: () => {
        throw new Error('closed badly');
      },
    },
  ],
])('a store %s harms nobody', async (_, oddity) => {
  const { seen, stop } = watchRejections();
  const stage = createStage(rotate);
  const { session } = stage.open({ store: { ...memoryStore(), ...oddity } });
  await session.ready;
  await session.setTokens(success(1));
  expect(session.advertisingToken).toBeDefined();
  await session.clear();
  expect(session.advertisingToken).toBeUndefined();
  session.close();
  await stage.rest();
  stop();
  expect(seen).toEqual([]);
});

test('what a parser in provide chokes on is quoted nowhere', async () => {
  const stage = createStage(rotate);
  const errors: Error[] = [];
  const { session } = stage.open({
    store: memoryStore(),
    provide: async () => JSON.parse('jane.roe@example.com') as unknown,
    logger: { debug: (_, error) => errors.push(error as Error) },
  });
  session.on('error', (error) => errors.push(error));
  await expect(session.getToken()).rejects.toMatchObject({ code: 'network' });
  await stage.rest();
  expect(errors.length).toBeGreaterThan(1);
  for (const error of errors) expect(`${error.message} ${error.cause}`).not.toContain('jane');
});

test('an answer of provide that comes after a logout in another tab brings nobody back', async () => {
  const stage = createStage(rotate);
  const store = memoryStore();
  let answer = (_: unknown) => {};
  const { session: asking } = stage.open({
    store,
    name: 'late-provide',
    provide: () => new Promise((resolve) => (answer = resolve)),
  });
  const { session: other } = stage.open({ store, name: 'late-provide' });
  await other.ready;
  await asking.ready;
  await other.setTokens(success(2));
  // No rest in between: the other tab has not been told yet.
  await other.clear();
  answer(success(1));
  await stage.rest();
  expect(asking.advertisingToken).toBeUndefined();
  expect(other.advertisingToken).toBeUndefined();
  expect(await store.read()).not.toHaveProperty('set.advertisingToken');
});
