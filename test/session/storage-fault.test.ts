/** Storage that fails: the session continues in memory. */

import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createSession, memoryStore, type Session, type Store } from '../../src/session/index.ts';
import { loaded, MINUTE, names, recordEvents, START } from '../support/clock.ts';
import { throwing } from '../support/throwing.ts';
import { BASE_URL, fixtureForEachTest, hangs, offline, recordOf, success } from './fixtures.ts';

let testNumber = 0;
const fixture = fixtureForEachTest();

const never = () => new Promise<never>(() => {});
const failingRequest = () => {
  const open = { error: new DOMException('no', 'UnknownError') } as unknown as IDBOpenDBRequest;
  queueMicrotask(() => open.onerror?.({ target: open } as never));
  return open;
};

const openOnDatabase = (options: object = {}) => {
  const session = createSession({ baseUrl: BASE_URL, fetch: fixture.fetch, name: `fault-${testNumber++}`, ...options });
  return { ...fixture, session, events: recordEvents(session) };
};

test('no IndexedDB at all: the session uses memory and emits no error', async () => {
  const own = Object.getOwnPropertyDescriptor(globalThis, 'indexedDB')!;
  onTestFinished(() => void Object.defineProperty(globalThis, 'indexedDB', own));
  Reflect.deleteProperty(globalThis, 'indexedDB');
  const { session, events, settle } = openOnDatabase({ tokens: success(1) });
  await session.ready;
  await settle();
  expect(session.state.persistence).toBe('memory');
  expect(names(events)).toEqual(['token set']);
  session.close();
});

test('a database without its object store, which another script opened first, is repaired: the next page loads the set', async () => {
  const name = `bare-${testNumber++}`;
  await new Promise<void>((resolve) => {
    const opening = indexedDB.open(name);
    opening.onsuccess = () => {
      opening.result.close();
      resolve();
    };
  });
  const first = openOnDatabase({ name });
  await first.session.setTokens(success(1));
  expect(first.session.state.persistence).toBe('indexeddb');
  first.session.close();
  const next = openOnDatabase({ name });
  await next.session.ready;
  expect(next.session.advertisingToken).toBe('advertising-1');
  expect(names(next.events)).toEqual(['token load']);
  next.session.close();
});

describe('the session falls back to memory and emits one error if', () => {
  test('opening fails', async () => {
    vi.spyOn(indexedDB, 'open').mockImplementation(failingRequest as never);
    const { session, events, advance } = openOnDatabase();
    await session.ready;
    await advance(0);
    expect(session.state).toMatchObject({ persistence: 'memory', lastError: { code: 'storage_failed' } });
    expect(names(events)).toEqual(['error storage_failed', 'needsTokens empty']);
    void session.setTokens(success(1));
    expect(session.advertisingToken).toBe('advertising-1');
    await advance(15 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-2');
    expect(names(events).slice(2)).toEqual(['token set', 'token refresh']);
    session.close();
  });

  test('reading the global `indexedDB` throws', async () => {
    const own = Object.getOwnPropertyDescriptor(globalThis, 'indexedDB')!;
    onTestFinished(() => void Object.defineProperty(globalThis, 'indexedDB', own));
    Object.defineProperty(globalThis, 'indexedDB', {
      configurable: true,
      get: throwing(new DOMException('denied', 'SecurityError')),
    });
    const { session } = openOnDatabase();
    await session.ready;
    // The next page may be able to read what was stored before.
    await expect(session.setTokens(success(1))).rejects.toMatchObject({ code: 'storage_failed' });
    expect(session.advertisingToken).toBe('advertising-1');
    expect(session.state.persistence).toBe('memory');
    session.close();
  });

  const kinds: [string, Partial<Store>][] = [
    ['reading rejects', { read: () => Promise.reject(new Error('no')) }],
    [
      'writing throws',
      {
        update: throwing(new Error('no')),
      },
    ],
  ];
  test.each(kinds)('%s in a custom store', async (_, fault) => {
    const { session, events } = fixture.open({ store: { ...memoryStore(), kind: 'custom kind', ...fault } });
    const done = session.setTokens(success(1));
    await fixture.advance(3000);
    await expect(done).resolves.toBeUndefined();
    expect(session.advertisingToken).toBe('advertising-1');
    expect(session.state.persistence).toBe('memory');
    expect(names(events).filter((event) => event !== 'needsTokens empty')).toEqual([
      'error storage_failed',
      'token set',
    ]);
    await fixture.advance(15 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-2');
  });
});

test('a store that starts to fail later: the page keeps its token and refreshes it', async () => {
  const inner = memoryStore(recordOf(1));
  const store: Store = { ...inner };
  const { session, events } = await loaded(fixture.open({ store }));
  store.read = store.update = () => Promise.reject(new Error('gone'));
  await fixture.advance(15 * MINUTE);
  expect(session.advertisingToken).toBe('advertising-2');
  expect(names(events)).toEqual(['token load', 'error storage_failed', 'token refresh']);
  await fixture.advance(15 * MINUTE);
  expect(session.advertisingToken).toBe('advertising-3');
});

test('a store that never answers: the token of a later login is announced without a wait for it', async () => {
  const { session, events } = fixture.open({ store: { read: never, update: never } });
  await fixture.advance(2_000);
  expect(session.state.persistence).toBe('memory');
  void session.setTokens(success(1));
  await fixture.settle();
  expect(names(events)).toContain('token set');
});

test('a database that fails to open once is opened again, without an error', async () => {
  const name = `once-${testNumber++}`;
  const first = openOnDatabase({ name });
  await first.session.setTokens(success(1));
  first.session.close();
  await first.settle();
  vi.spyOn(indexedDB, 'open').mockImplementationOnce(failingRequest as never);
  const { session, events, settle } = openOnDatabase({ name });
  await session.ready;
  await settle();
  expect(session.state.persistence).toBe('indexeddb');
  expect(names(events)).toEqual(['token load']);
  session.close();
});

test('a store that was erased and then written by another tab for another user: the new user’s token is in force', async () => {
  const store = memoryStore({ ...recordOf(1), generation: 7 });
  const { session } = await loaded(fixture.open({ store }));
  await fixture.advance(MINUTE);
  await store.update(() => recordOf(5));
  window.dispatchEvent(new Event('pageshow'));
  await fixture.settle();
  expect(session.advertisingToken).toBe('advertising-5');
});

test.each<[string, object, (session: Session) => void]>([
  ['a set for another user in the option `tokens`', { tokens: success(9, START + 1) }, () => {}],
  ['a logout in the task of the creation', {}, (session) => void session.clear()],
  ['an opt-out in the task of the creation', {}, (session) => void session.setTokens({ status: 'optout' })],
])('the stored token is never returned before the write of: %s', async (_, options, call) => {
  const { session } = fixture.open({ ...options, store: memoryStore(recordOf(1)) });
  call(session);
  const seen: unknown[] = [];
  session.subscribe(() => seen.push(session.advertisingToken));
  seen.push(await session.getToken({ timeoutMs: 50 }).catch(() => {}));
  await fixture.settle();
  expect(seen).not.toContain('advertising-1');
});

test('a store that reports writes it did not make causes no request loop', async () => {
  let calls = 0;
  // Stop answering after 50 requests, so a loop fails the test in finite time.
  fixture.serve((sent) => (calls++ < 50 ? offline(sent) : hangs(sent)));
  const record = recordOf(1);
  fixture.open({ store: { read: async () => record, update: async (change) => change(record) } });
  await fixture.advance(15 * MINUTE + 1000);
  expect(calls).toBeGreaterThan(0);
  expect(calls).toBeLessThan(20);
});

test('a store whose update() resolves with undefined does not affect the session', async () => {
  const inner = memoryStore();
  const { session } = fixture.open({ store: { ...inner, update: async (change) => void inner.update(change) } });
  await session.setTokens(success(1));
  expect(session.advertisingToken).toBe('advertising-1');
  await session.clear();
  expect(session.state).toMatchObject({ phase: 'empty', persistence: 'memory', lastError: undefined });
});

describe('a store of the host', () => {
  test.each<[string, (session: Session) => unknown]>([
    ['once it is loaded', (session) => session.ready],
    ['before it is loaded', () => {}],
  ])('whose update() does not call its argument: a set supplied %s is kept in memory', async (_, wait) => {
    const { session, events } = fixture.open({ store: { read: async () => undefined, update: async () => undefined } });
    await wait(session);
    await session.setTokens(success(1));
    expect(session.advertisingToken).toBe('advertising-1');
    expect(session.state.persistence).toBe('memory');
    await fixture.settle();
    expect(names(events)).toContain('error storage_failed');
  });

  test('whose update() does not call its argument: a logout rejects, because the next page finds the user', async () => {
    const { session } = await loaded(
      fixture.open({ store: { read: async () => recordOf(1), update: async () => undefined } }),
    );
    await expect(session.clear()).rejects.toMatchObject({ code: 'storage_failed' });
  });
});
