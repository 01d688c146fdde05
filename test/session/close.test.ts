/** What a closed session leaves behind: what is stored, and nothing else. */

import { describe, expect, test, vi } from 'vitest';
import { memoryStore, type Store } from '../../src/session/index.ts';
import { HOUR, loaded, MINUTE, names, START, until } from '../support/clock.ts';
import {
  type createFixture,
  fixtureForEachTest,
  hangs,
  offline,
  recordOf,
  rotate,
  setVisible,
  showSilently,
  success,
  watchRejections,
} from './fixtures.ts';

const fixture = fixtureForEachTest();

/** Count the listeners on window and document, those removed by an abort signal included. */
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
    vi.spyOn(target, 'removeEventListener').mockImplementation(((...args: [string, () => void]) => {
      count--;
      remove(...args);
    }) as never);
  }
  return { left: () => count - signals.filter((signal) => signal.aborted).length, added: () => added };
};

test('close() leaves no timer, listener, channel or database connection', async () => {
  const listeners = pageListeners();
  const channels = vi.spyOn(BroadcastChannel.prototype, 'close');
  const store = { ...memoryStore(recordOf(1)), close: vi.fn() } satisfies Store;
  const { session } = await loaded(fixture.open({ store }));
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
  ['during a refresh', { store: () => memoryStore(recordOf(1, START - 20 * MINUTE)) }, hangs],
  ['during a call of `provide`', { store: () => memoryStore(), provide: () => new Promise<never>(() => {}) }, rotate],
])('close() %s leaves no timer, and a waiting getToken() settles', async (_, { store, ...options }, service) => {
  fixture.serve(service);
  const { session } = fixture.open({ store: store(), ...options });
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

test('close() while the store hangs: after 1.5 s no timer is left, and no event was emitted', async () => {
  const { session, events } = fixture.open({ store: { ...memoryStore(), read: () => new Promise(() => {}) } });
  const waiting = session.getToken({ timeoutMs: HOUR }).catch(({ code }) => code);
  await fixture.settle();
  session.close();
  await fixture.advance(1500);
  expect(await waiting).toBe('closed');
  expect(vi.getTimerCount()).toBe(0);
  expect(events).toEqual([]);
});

test('a closed session rejects every call with `closed`, sends nothing, emits nothing and returns no token', async () => {
  const { session, events, store } = await loaded(fixture.openStored());
  await fixture.settle();
  const emitted = events.length;
  session.close();
  expect(session.advertisingToken).toBeUndefined();
  for (const call of [
    () => session.getToken(),
    () => session.setTokens(success(2)),
    () => session.setTokens('nonsense' as never),
    () => session.clear(),
    () => session.refresh(),
    () => session.signIn(),
  ])
    await expect(call()).rejects.toMatchObject({ name: 'TokenError', code: 'closed' });
  window.dispatchEvent(new Event('pageshow'));
  await fixture.advance(2 * HOUR);
  expect(fixture.sent).toEqual([]);
  expect(events).toHaveLength(emitted);
  expect(await store.read()).toEqual(recordOf(1, START));
});

test('closing a page that is shown again without an event writes nothing', async () => {
  fixture.serve(offline);
  const inner = memoryStore(recordOf(1));
  const { session } = fixture.open({ store: inner });
  await fixture.advance(15 * MINUTE);
  await until(() => session.state.next?.reason === 'back_off');
  setVisible(false);
  showSilently();
  session.close();
  await fixture.settle();
  expect(await inner.read()).toMatchObject({ retry: { reason: 'back_off' } });
});

test('close() may be called twice and before anything is loaded; `ready` still resolves', async () => {
  const { session, events } = fixture.openStored();
  session.close();
  session.close();
  await session.ready;
  await fixture.settle();
  expect(session.advertisingToken).toBeUndefined();
  expect(events).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

describe('a write in progress when the session is closed', () => {
  test.each<[string, (session: ReturnType<ReturnType<typeof createFixture>['open']>['session']) => Promise<void>]>([
    ['setTokens', (session) => session.setTokens(success(7))],
    ['clear', (session) => session.clear()],
  ])('of %s is completed, and its promise resolves', async (_, call) => {
    const { seen, stop } = watchRejections();
    const { session, store } = await loaded(fixture.openStored());
    const done = call(session);
    session.close();
    await expect(done).resolves.toBeUndefined();
    expect(await store.read()).toMatchObject({ generation: 2 });
    await fixture.settle();
    stop();
    expect(seen).toEqual([]);
  });

  test('of a logout still reaches the other tabs', async () => {
    const store = memoryStore(recordOf(1));
    const leaving = fixture.open({ store, name: 'close-tabs' });
    const staying = fixture.open({ store, name: 'close-tabs' });
    await Promise.all([leaving.session.ready, staying.session.ready]);
    void leaving.session.clear();
    leaving.session.close();
    await until(() => !staying.session.advertisingToken);
    expect(names(staying.events)).toEqual(['token load']);
  });
});

test('closing a session does not close another one of the same name', async () => {
  const store = memoryStore(recordOf(1));
  const one = fixture.open({ store, name: 'close-one' });
  const two = fixture.open({ store, name: 'close-one' });
  await Promise.all([one.session.ready, two.session.ready]);
  one.session.close();
  await fixture.advance(15 * MINUTE);
  expect(two.session.advertisingToken).toBe('advertising-2');
  expect(names(one.events)).toEqual(['token load']);
});

test('close() right after refresh(): nothing is sent, and the promise rejects with `closed`', async () => {
  const { session } = await loaded(fixture.open({ store: memoryStore(recordOf(1)) }));
  const refreshed = session.refresh();
  session.close();
  await expect(refreshed).rejects.toMatchObject({ code: 'closed' });
  await fixture.settle();
  expect(fixture.sent).toHaveLength(0);
});

test('opening and closing 100 sessions leaves no timer, listener, channel or unhandled rejection', async () => {
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
  const listeners = pageListeners();
  fixture.serve(hangs);
  const store = memoryStore(recordOf(1, START - 20 * MINUTE));
  for (let n = 0; n < 100; n++) {
    const { session } = fixture.open({ store, name: 'close-100' });
    if (n % 3) await session.ready;
    if (n % 2) void session.refresh();
    session.close();
  }
  await fixture.settle();
  expect(vi.getTimerCount()).toBe(0);
  expect(listeners.left()).toBe(0);
  expect(listeners.added()).toBeGreaterThan(300);
  expect(opened.mock.calls.flat().reduce((sum, one) => sum + one, 0)).toBe(0);
  stop();
  expect(seen).toEqual([]);
});
