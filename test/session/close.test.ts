/** What a closed session leaves behind: what is stored, and nothing else. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { memoryStore, type Store } from '../../src/session/index.ts';
import { HOUR, MINUTE, names, START, until, useFakeClock } from '../support/fixtures.ts';
import { createFixture, hangs, recordOf, restoreGlobals, rotate, success, watchRejections } from './fixtures.ts';

beforeEach(() => void useFakeClock());
afterEach(restoreGlobals);

/** Signals and listeners that were handed to the page's own events. */
const pageListeners = () => {
  let count = 0;
  let added = 0;
  const signals: AbortSignal[] = [];
  for (const target of [window, document]) {
    const add = target.addEventListener.bind(target);
    vi.spyOn(target, 'addEventListener').mockImplementation(((
      name: string,
      listener: () => void,
      options: AddEventListenerOptions,
    ) => {
      count++;
      added++;
      if (options?.signal) signals.push(options.signal);
      add(name, listener, options);
    }) as never);
    const remove = target.removeEventListener.bind(target);
    vi.spyOn(target, 'removeEventListener').mockImplementation(((...given: [string, () => void]) => {
      count--;
      remove(...given);
    }) as never);
  }
  return { left: () => count - signals.filter((signal) => signal.aborted).length, added: () => added };
};

test('no timer, no listener, no channel, no connection is left', async () => {
  const listeners = pageListeners();
  const channels = vi.spyOn(BroadcastChannel.prototype, 'close');
  const fixture = createFixture();
  const store = { ...memoryStore(recordOf(1)), close: vi.fn() } satisfies Store;
  const { session } = fixture.open({ store });
  await session.ready;
  await fixture.settle();
  expect(vi.getTimerCount()).toBe(1);
  expect(listeners.left()).toBeGreaterThan(0);
  session.close();
  await fixture.settle();
  expect(vi.getTimerCount()).toBe(0);
  expect(listeners.left()).toBe(0);
  expect(listeners.added()).toBeGreaterThan(0);
  expect(channels).toHaveBeenCalledOnce();
  expect(store.close).toHaveBeenCalledOnce();
});

test.each([
  ['in the middle of a refresh', { store: () => memoryStore(recordOf(1, START - 20 * MINUTE)) }, hangs],
  ['while the publisher is asked', { store: () => memoryStore(), provide: () => new Promise(() => {}) }, rotate],
  ['while a token is waited for', { store: () => memoryStore(), provide: () => new Promise(() => {}) }, rotate],
])('%s too: no timer is left, and whoever waits is told', async (_, { store, ...given }, service) => {
  const fixture = createFixture(service);
  const { session } = fixture.open({ store: store(), ...given });
  await fixture.settle();
  const waiting = session.getToken({ timeoutMs: HOUR }).then(
    () => 'token',
    ({ code }) => code,
  );
  await fixture.settle();
  session.close();
  await fixture.settle();
  expect(['closed', 'token']).toContain(await waiting);
  expect(vi.getTimerCount()).toBe(0);
});

test('while the store hangs: 1.5 s later nothing is left, and nothing was told', async () => {
  const fixture = createFixture();
  const { session, events } = fixture.open({ store: { ...memoryStore(), read: () => new Promise(() => {}) } });
  const waiting = session.getToken({ timeoutMs: HOUR }).catch(({ code }) => code);
  await fixture.settle();
  session.close();
  await fixture.advance(1500);
  expect(await waiting).toBe('closed');
  expect(vi.getTimerCount()).toBe(0);
  expect(events).toEqual([]);
});

test('the request under way is given up', async () => {
  const fixture = createFixture(hangs);
  const { session } = fixture.openStored();
  await fixture.advance(15 * MINUTE);
  session.close();
  expect(fixture.sent[0]?.init.signal?.aborted).toBe(true);
});

test('everything rejects closed, nothing is told, nothing is asked, the page has no token', async () => {
  const fixture = createFixture();
  const { session, events, store } = fixture.openStored();
  await session.ready;
  await fixture.settle();
  const told = events.length;
  session.close();
  expect(session.advertisingToken).toBeUndefined();
  for (const call of [
    () => session.getToken(),
    () => session.setTokens(success(2)),
    () => session.setTokens('nonsense'),
    () => session.clear(),
    () => session.refresh(),
  ])
    await expect(call()).rejects.toMatchObject({ name: 'TokenError', code: 'closed' });
  window.dispatchEvent(new Event('pageshow'));
  await fixture.advance(2 * HOUR);
  expect(fixture.sent).toEqual([]);
  expect(events).toHaveLength(told);
  expect(await store.read()).toEqual(recordOf(1, START));
});

test('closing twice, and before anything is loaded, is fine: ready resolves all the same', async () => {
  const fixture = createFixture();
  const { session, events } = fixture.openStored();
  session.close();
  session.close();
  await session.ready;
  await fixture.settle();
  expect(session.advertisingToken).toBeUndefined();
  expect(events).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

describe('a write that is under way when the session is closed', () => {
  test.each<[string, (session: ReturnType<ReturnType<typeof createFixture>['open']>['session']) => Promise<void>]>([
    ['setTokens', (session) => session.setTokens(success(7))],
    ['clear', (session) => session.clear()],
  ])('%s lands, and its promise resolves', async (_, call) => {
    const { seen, stop } = watchRejections();
    const fixture = createFixture();
    const { session, store } = fixture.openStored();
    await session.ready;
    const done = call(session);
    session.close();
    await expect(done).resolves.toBeUndefined();
    expect(await store.read()).toMatchObject({ generation: 2 });
    await fixture.settle();
    stop();
    expect(seen).toEqual([]);
  });

  test('a logout is told to the other tabs all the same', async () => {
    const fixture = createFixture();
    const store = memoryStore(recordOf(1));
    const leaving = fixture.open({ store, name: 'close-tabs' });
    const staying = fixture.open({ store, name: 'close-tabs' });
    await Promise.all([leaving.session.ready, staying.session.ready]);
    void leaving.session.clear();
    leaving.session.close();
    await until(() => !staying.session.advertisingToken);
    expect(names(staying.events)).toEqual(['token load']);
    fixture.close();
  });
});

test('a session that is closed does not close another of its name', async () => {
  const fixture = createFixture();
  const store = memoryStore(recordOf(1));
  const one = fixture.open({ store, name: 'close-one' });
  const two = fixture.open({ store, name: 'close-one' });
  await Promise.all([one.session.ready, two.session.ready]);
  one.session.close();
  await fixture.advance(15 * MINUTE);
  expect(two.session.advertisingToken).toBe('advertising-2');
  expect(names(one.events)).toEqual(['token load']);
  fixture.close();
});

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

test('opened and closed 100 times: no timer, listener, channel or connection is left', async () => {
  const { seen, stop } = watchRejections();
  const opened = vi.fn();
  class Channel extends BroadcastChannel {
    constructor(name: string) {
      super(name);
      opened(1);
    }
    override close() {
      opened(-1);
      super.close();
    }
  }
  vi.stubGlobal('BroadcastChannel', Channel);
  const listeners = new Set<string>();
  const add = window.addEventListener.bind(window);
  const remove = window.removeEventListener.bind(window);
  let left = 0;
  vi.spyOn(window, 'addEventListener').mockImplementation(((...given: Parameters<typeof add>) => {
    listeners.add(given[0]);
    left++;
    add(...given);
  }) as never);
  vi.spyOn(window, 'removeEventListener').mockImplementation(((...given: Parameters<typeof remove>) => {
    left--;
    remove(...given);
  }) as never);
  const fixture = createFixture(hangs);
  const store = memoryStore(recordOf(1, START - 20 * MINUTE));
  for (let n = 0; n < 100; n++) {
    const { session } = fixture.open({ store, name: 'life-100' });
    if (n % 3) await session.ready;
    if (n % 2) void session.refresh();
    session.close();
  }
  await fixture.settle();
  expect(vi.getTimerCount()).toBe(0);
  expect(left).toBe(0);
  expect(listeners.size).toBeGreaterThan(3);
  expect(opened.mock.calls.flat().reduce((sum, one) => sum + one, 0)).toBe(0);
  stop();
  expect(seen).toEqual([]);
});
