/** What a page goes through where its storage fails or hangs. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createSession, memoryStore, type Store } from '../../src/session/index.ts';
import { listen, MINUTE, names, useFakeClock } from '../support/scene.ts';
import { BASE_URL, createStage, recordOf, strike, success } from './stage.ts';

let round = 0;
beforeEach(() => void useFakeClock());
afterEach(strike);

const never = () => new Promise<never>(() => {});
const request = (event?: 'error' | 'blocked') => {
  const open = { error: new DOMException('no', 'UnknownError') } as unknown as IDBOpenDBRequest & {
    onblocked: unknown;
  };
  if (event) queueMicrotask(() => (open[`on${event}`] as ((of: unknown) => void) | undefined)?.({ target: open }));
  return open;
};

/** A session on IndexedDB as the page has it. */
const openOnDatabase = (given: object = {}) => {
  const stage = createStage();
  const session = createSession({ baseUrl: BASE_URL, fetch: stage.fetch, name: `fault-${round++}`, ...given });
  return { ...stage, session, heard: listen(session) };
};

test('on a good IndexedDB the set is found again by the next page', async () => {
  const name = `good-${round++}`;
  const first = openOnDatabase({ name });
  await first.session.ready;
  expect(first.session.state.persistence).toBe('indexeddb');
  await first.session.setTokens(success(1));
  first.session.close();
  const second = openOnDatabase({ name });
  await second.session.ready;
  expect(second.session.advertisingToken).toBe('advertising-1');
  expect(names(second.heard)).toEqual(['token load']);
  second.session.close();
});

test('where there is no IndexedDB at all, memory is no failure', async () => {
  const { indexedDB } = globalThis;
  Reflect.deleteProperty(globalThis, 'indexedDB');
  const { session, heard, rest } = openOnDatabase({ tokens: success(1) });
  await session.ready;
  await rest();
  expect(session.state.persistence).toBe('memory');
  expect(names(heard)).toEqual(['token set']);
  globalThis.indexedDB = indexedDB;
  session.close();
});

describe('memory takes over within 1.5 s, and one error says so', () => {
  test.each<[string, () => unknown]>([
    ['opening fails', () => request('error')],
    ['opening is blocked', () => request('blocked')],
    ['opening hangs', () => request()],
    [
      'opening is denied on the spot',
      () => {
        throw new DOMException('denied', 'SecurityError');
      },
    ],
  ])('%s', async (_, open) => {
    vi.spyOn(indexedDB, 'open').mockImplementation(open as never);
    const { session, heard, pass } = openOnDatabase();
    let isReady = false;
    void session.ready.then(() => (isReady = true));
    await pass(1500);
    expect(isReady).toBe(true);
    expect(session.state).toMatchObject({ persistence: 'memory', lastError: { code: 'storage_failed' } });
    expect(names(heard)).toEqual(['error storage_failed', 'needsTokens empty']);
    await session.setTokens(success(1));
    expect(session.advertisingToken).toBe('advertising-1');
    await pass(15 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-2');
    expect(names(heard).slice(2)).toEqual(['token set', 'token refresh']);
    session.close();
  });

  test('the very look at indexedDB is denied', async () => {
    const own = Object.getOwnPropertyDescriptor(globalThis, 'indexedDB')!;
    Object.defineProperty(globalThis, 'indexedDB', {
      configurable: true,
      get: () => {
        throw new DOMException('denied', 'SecurityError');
      },
    });
    try {
      const { session } = openOnDatabase();
      await session.ready;
      await session.setTokens(success(1));
      expect(session.state.persistence).toBe('memory');
      session.close();
    } finally {
      Object.defineProperty(globalThis, 'indexedDB', own);
    }
  });

  const kinds: [string, Partial<Store>][] = [
    ['reading rejects', { read: () => Promise.reject(new Error('no')) }],
    ['reading hangs', { read: never }],
    [
      'reading throws on the spot',
      {
        read: () => {
          throw new Error('no');
        },
      },
    ],
    ['writing rejects', { update: () => Promise.reject(new Error('no')) }],
    ['writing hangs', { update: never }],
    [
      'writing throws on the spot',
      {
        update: () => {
          throw new Error('no');
        },
      },
    ],
  ];
  test.each(kinds)('in a store of the host: %s', async (_, fault) => {
    const stage = createStage();
    const { session, heard } = stage.open({ store: { ...memoryStore(), kind: 'of the host', ...fault } });
    const done = session.setTokens(success(1));
    await stage.pass(3000);
    await expect(done).resolves.toBeUndefined();
    expect(session.advertisingToken).toBe('advertising-1');
    expect(session.state.persistence).toBe('memory');
    expect(names(heard).filter((event) => event !== 'needsTokens empty')).toEqual([
      'error storage_failed',
      'token set',
    ]);
    await stage.pass(15 * MINUTE);
    expect(session.advertisingToken).toBe('advertising-2');
    stage.close();
  });
});

test('a store that fails mid-life takes nothing from the page', async () => {
  const stage = createStage();
  const place = memoryStore(recordOf(1));
  const store: Store = { ...place };
  const { session, heard } = stage.open({ store });
  await session.ready;
  store.read = store.update = () => Promise.reject(new Error('gone'));
  await stage.pass(15 * MINUTE);
  expect(session.advertisingToken).toBe('advertising-2');
  expect(names(heard)).toEqual(['token load', 'error storage_failed', 'token refresh']);
  await stage.pass(15 * MINUTE);
  expect(session.advertisingToken).toBe('advertising-3');
  stage.close();
});

test('a write that was given up on changes nothing when it runs at last', async () => {
  const stage = createStage();
  let late: ((stored: unknown) => unknown) | undefined;
  const store: Store = {
    ...memoryStore(),
    update: (change) => {
      late = change;
      return never();
    },
  };
  const { session } = stage.open({ store });
  const done = session.setTokens(success(1));
  await stage.pass(3000);
  await done;
  const stored = recordOf(5);
  expect(late?.(stored)).toBe(stored);
  expect(late?.(undefined)).toBeUndefined();
  stage.close();
});
