/** What happens when two things happen at once: closing, consent, odd stores, and a promise that is still under way. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { memoryStore } from '../../src/session/index.ts';
import { START, useFakeClock } from '../support/fixtures.ts';
import { createFixture, recordOf, restoreGlobals, rotate, success, watchRejections } from './fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

test('closing right after refresh() sends nothing, and says that it is closed', async () => {
  const fixture = createFixture(rotate);
  const { session } = fixture.open({ store: memoryStore(recordOf(1)) });
  await session.ready;
  const refreshed = session.refresh();
  session.close();
  await expect(refreshed).rejects.toMatchObject({ code: 'closed' });
  await fixture.settle();
  expect(fixture.sent).toHaveLength(0);
});

test('consent withdrawn right after refresh() leaves provide unasked', async () => {
  const fixture = createFixture(rotate);
  const provide = vi.fn(async () => success(1));
  let decide = (_: boolean) => {};
  const { session } = fixture.open({
    provide,
    store: memoryStore({ ...recordOf(1), set: undefined, clearedAt: START }),
    consent: (onChange) => {
      decide = onChange;
      return true;
    },
  });
  await session.ready;
  await fixture.settle();
  provide.mockClear();
  const refreshed = session.refresh();
  decide(false);
  await expect(refreshed).rejects.toMatchObject({ code: 'no_consent' });
  await fixture.settle();
  expect(provide).not.toHaveBeenCalled();
});

test('consent that changes after closing is of no concern', async () => {
  const { seen, stop } = watchRejections();
  const fixture = createFixture(rotate);
  let decide = (_: boolean) => {};
  const store = { ...memoryStore(recordOf(1)), close: vi.fn() };
  const { session } = fixture.open({
    store,
    consent: (onChange) => {
      decide = onChange;
      return true;
    },
  });
  await session.ready;
  session.close();
  await fixture.settle();
  decide(false);
  await fixture.settle();
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
  const fixture = createFixture(rotate);
  const { session } = fixture.open({ store: { ...memoryStore(), ...oddity } });
  await session.ready;
  await session.setTokens(success(1));
  expect(session.advertisingToken).toBeDefined();
  await session.clear();
  expect(session.advertisingToken).toBeUndefined();
  session.close();
  await fixture.settle();
  stop();
  expect(seen).toEqual([]);
});

test('what a parser in provide chokes on is quoted nowhere', async () => {
  const fixture = createFixture(rotate);
  const errors: Error[] = [];
  const { session } = fixture.open({
    store: memoryStore(),
    provide: async () => JSON.parse('jane.roe@example.com') as unknown,
    logger: { debug: (_, error) => errors.push(error as Error) },
  });
  session.on('error', (error) => errors.push(error));
  await expect(session.getToken()).rejects.toMatchObject({ code: 'network' });
  await fixture.settle();
  expect(errors.length).toBeGreaterThan(1);
  for (const error of errors) expect(`${error.message} ${error.cause}`).not.toContain('jane');
});

test('an answer of provide that comes after a logout in another tab brings nobody back', async () => {
  const fixture = createFixture(rotate);
  const store = memoryStore();
  let answer = (_: unknown) => {};
  const { session: asking } = fixture.open({
    store,
    name: 'late-provide',
    provide: () => new Promise((resolve) => (answer = resolve)),
  });
  const { session: other } = fixture.open({ store, name: 'late-provide' });
  await other.ready;
  await asking.ready;
  await other.setTokens(success(2));
  // No rest in between: the other tab has not been told yet.
  await other.clear();
  answer(success(1));
  await fixture.settle();
  expect(asking.advertisingToken).toBeUndefined();
  expect(other.advertisingToken).toBeUndefined();
  expect(await store.read()).not.toHaveProperty('set.advertisingToken');
});
