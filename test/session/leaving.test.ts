/** A tab that goes away in the middle of something, or that calls the session while it goes: what the other tabs get to know. */

import { expect, test, vi } from 'vitest';
import { memoryStore, type SessionOptions } from '../../src/session/index.ts';
import { HOUR, loaded, MINUTE, names, START, until } from '../support/clock.ts';
import { dispatch, fakeLocks, fixtureForEachTest, hangs, recordOf, rotate, success } from './fixtures.ts';

const fixture = fixtureForEachTest();

const listen = (name: string) => {
  const heard: unknown[] = [];
  const other = new BroadcastChannel(name);
  other.onmessage = ({ data }) => heard.push(data);
  return { heard, stop: () => other.close() };
};

test('a tab that is closed during its refresh: the tab that waits for it refreshes at once', async () => {
  fakeLocks();
  fixture.serve(hangs);
  const name = 'closed-during-its-refresh';
  const store = memoryStore(recordOf(1, START - 20 * MINUTE));
  const leaving = fixture.open({ store, name });
  await until(() => fixture.sent.length === 1);
  const { session } = fixture.open({ store, name });
  await until(() => session.state.next?.reason === 'other_tab');
  fixture.serve(rotate);
  leaving.session.close();
  await until(() => session.advertisingToken === 'advertising-2');
  expect(Date.now() - START).toBeLessThan(1000);
});

test('a tab that is left during its refresh notifies the other tabs, then closes its channel and its connection', async () => {
  fakeLocks();
  fixture.serve(hangs);
  const name = 'left-during-its-refresh';
  const closed = vi.spyOn(BroadcastChannel.prototype, 'close');
  const store = { ...memoryStore(recordOf(1, START - 20 * MINUTE)), close: vi.fn() };
  fixture.open({ store, name });
  await until(() => fixture.sent.length === 1);
  const { heard, stop } = listen(name);
  dispatch('pagehide');
  await until(() => heard.length);
  expect(heard).toEqual([true]);
  expect(closed).toHaveBeenCalledOnce();
  expect(store.close).toHaveBeenCalledOnce();
  stop();
});

test('a logout in a listener of `pagehide` reaches the other tabs, and leaves no connection open', async () => {
  const name = 'logout-on-pagehide';
  const closed = vi.spyOn(BroadcastChannel.prototype, 'close');
  const store = { ...memoryStore(recordOf(1)), close: vi.fn() };
  const { session } = await loaded(fixture.open({ store, name }));
  const { heard, stop } = listen(name);
  dispatch('pagehide');
  // Between two listeners a browser runs all microtasks; `dispatchEvent` does not.
  await fixture.settle();
  await session.clear();
  await until(() => heard.length);
  expect(await store.read()).not.toHaveProperty('set.refreshToken');
  expect(closed).toHaveBeenCalledTimes(2);
  expect(store.close).toHaveBeenCalledTimes(2);
  stop();
});

test('refresh() just before the page is left: nothing is sent, and no lock is requested', async () => {
  const locks = fakeLocks();
  fixture.serve(hangs);
  const { session } = await loaded(fixture.openStored());
  await fixture.settle();
  const refreshed = session.refresh();
  dispatch('pagehide');
  await expect(refreshed).rejects.toMatchObject({ code: 'no_token' });
  expect(fixture.sent).toEqual([]);
  expect(locks.asked).toEqual([]);
});

test('nobody is signed in, as one tab has learned: the tab that waits for it asks at once', async () => {
  fakeLocks();
  const answers: ((answer: null) => void)[] = [];
  const provide: SessionOptions['provide'] = () => new Promise((resolve) => void answers.push(resolve));
  const name = 'nobody-in-two-tabs';
  const store = memoryStore();
  fixture.open({ store, name, provide });
  await until(() => answers.length === 1);
  const { session } = fixture.open({ store, name, provide });
  const asked = session.getToken();
  await until(() => session.state.next?.reason === 'other_tab');
  answers[0]?.(null);
  await until(() => answers.length === 2);
  answers[1]?.(null);
  await expect(asked).rejects.toMatchObject({ code: 'no_token' });
  expect(Date.now() - START).toBeLessThan(1000);
  await session.setTokens(success(1));
  expect(session.advertisingToken).toBe('advertising-1');
});

// A request that navigation ends is not a failure of the service.
test('five page views, each left during a slow refresh: the next one refreshes within 10 s', async () => {
  fakeLocks();
  fixture.serve(hangs);
  const name = 'quick-page-views';
  const store = memoryStore(recordOf(1, START - HOUR));
  for (let view = 0; view < 5; view++) {
    const { session } = await loaded(fixture.open({ store, name }));
    await fixture.advance(700);
    dispatch('pagehide');
    await fixture.settle();
    session.close();
    await fixture.settle();
  }
  expect(fixture.sent).toHaveLength(5);
  fixture.serve(rotate);
  const { session } = await loaded(fixture.open({ store, name }));
  await fixture.advance(10_000);
  expect(session.advertisingToken).toBe('advertising-2');
});

test('a frame that is removed from its page: getToken() settles', async () => {
  fixture.serve(hangs);
  const { session } = fixture.open({ store: memoryStore(recordOf(1, START - 2 * HOUR)) });
  await until(() => fixture.sent.length === 1);
  const call = session.getToken().catch(({ code }) => code);
  dispatch('pagehide');
  vi.stubGlobal('closed', true);
  await fixture.settle();
  expect(await call).toBe('closed');
});

test('a worker that is left writes no failure: its requests end first', async () => {
  vi.stubGlobal('WorkerGlobalScope', class {});
  fixture.serve(() => Promise.reject(new TypeError('Failed to fetch')));
  const { store, events } = fixture.open({ store: memoryStore(recordOf(1, START - 20 * MINUTE)) });
  await until(() => fixture.sent.length === 1);
  await fixture.advance(499);
  expect(await store.read()).not.toHaveProperty('retry.attempts');
  await fixture.advance(1);
  expect(await store.read()).toMatchObject({ retry: { attempts: 1 } });
  expect(names(events)).toContain('error network');
});
