/** The stores in IndexedDB and in memory. `fake-indexeddb` takes the place of the browser's; no test uses a clock. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { indexedDbStore, memoryStore } from '../../src/session/index.ts';
import { throwing } from '../support/throwing.ts';
import { watchRejections } from './fixtures.ts';

let name = '';
let testNumber = 0;
beforeEach(() => void (name = `store-${testNumber++}`));
afterEach(() => void vi.restoreAllMocks());

const resultOf = <T>(request: IDBRequest<T>) =>
  new Promise<T>((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

const connections = () => {
  const opened: IDBDatabase[] = [];
  const open = indexedDB.open.bind(indexedDB);
  vi.spyOn(indexedDB, 'open').mockImplementation((...args) => {
    const request = open(...args);
    request.addEventListener('success', () => opened.push(request.result));
    return request;
  });
  return opened;
};

describe.each([
  ['IndexedDB', () => indexedDbStore(name)],
  ['memory', () => memoryStore()],
])('a store in %s', (_, create) => {
  test('is empty at first, and returns what was written', async () => {
    const store = create();
    expect(await store.read()).toBeUndefined();
    const value = { text: 'ø', list: [1, { two: 2 }], none: undefined };
    expect(await store.update(() => value)).toEqual(value);
    expect(await store.read()).toEqual(value);
    store.close?.();
  });

  test('passes the stored value to an update, and resolves with the new one', async () => {
    const store = create();
    await store.update(() => 1);
    expect(await store.update((stored) => (stored as number) + 1)).toBe(2);
    expect(await store.read()).toBe(2);
    store.close?.();
  });

  test('applies concurrent updates one after the other', async () => {
    const store = create();
    await Promise.all(Array.from({ length: 20 }, () => store.update((stored) => ((stored as number) ?? 0) + 1)));
    expect(await store.read()).toBe(20);
    store.close?.();
  });

  test('rejects with the error that an update throws, and keeps the value', async () => {
    const store = create();
    await store.update(() => 'kept');
    const change = throwing(new Error('from the update'));
    await expect((async () => store.update(change))()).rejects.toThrow('from the update');
    expect(await store.read()).toBe('kept');
    store.close?.();
  });
});

describe('the database', () => {
  test('is opened once, at the first use', async () => {
    const opened = connections();
    const store = indexedDbStore(name);
    expect(indexedDB.open).not.toHaveBeenCalled();
    await Promise.all([store.read(), store.read(), store.update(() => 1)]);
    await store.read();
    expect(opened).toHaveLength(1);
    store.close?.();
  });

  test('is not written to by an update that changes nothing, even if it is empty', async () => {
    const writes = (['put', 'delete'] as const).map((method) => vi.spyOn(IDBObjectStore.prototype, method));
    const store = indexedDbStore(name);
    await store.update((stored) => stored);
    for (const write of writes) expect(write).not.toHaveBeenCalled();
    store.close?.();
  });

  test('keeps the value for the next store of the same name only', async () => {
    const first = indexedDbStore(name);
    await first.update(() => 'mine');
    first.close?.();
    const second = indexedDbStore(name);
    const other = indexedDbStore(`${name}-other`);
    expect(await second.read()).toBe('mine');
    expect(await other.read()).toBeUndefined();
    second.close?.();
    other.close?.();
  });

  test('is shared by two open stores without losing an update', async () => {
    const stores = [indexedDbStore(name), indexedDbStore(name)];
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => stores[n % 2]!.update((stored) => ((stored as number) ?? 0) + 1)),
    );
    for (const store of stores) {
      expect(await store.read()).toBe(20);
      store.close?.();
    }
  });

  test('is opened again after its connection was closed', async () => {
    const opened = connections();
    const store = indexedDbStore(name);
    await store.update(() => 'kept');
    opened[0]!.close();
    expect(await store.read()).toBe('kept');
    opened.at(-1)!.close();
    expect(await store.update((stored) => `${stored} twice`)).toBe('kept twice');
    expect(opened).toHaveLength(3);
    store.close?.();
  });

  test('can be deleted while the store is open; the store starts empty', async () => {
    const store = indexedDbStore(name);
    await store.update(() => 'gone');
    await resultOf(indexedDB.deleteDatabase(name));
    expect(await store.read()).toBeUndefined();
    await store.update(() => 'new');
    expect(await store.read()).toBe('new');
    store.close?.();
  });

  test('can be upgraded while the store is open; both connections share one value', async () => {
    const store = indexedDbStore(name);
    await store.update(() => 'mine');
    const upgrade = indexedDB.open(name, 7);
    const blocked = new Promise<never>((_, reject) => {
      upgrade.onblocked = () => reject(new Error('blocked'));
    });
    const database = await Promise.race([resultOf(upgrade), blocked]);
    expect(await store.update((stored) => `${stored}, and after the upgrade`)).toBe('mine, and after the upgrade');
    expect(await resultOf(database.transaction('session').objectStore('session').get('session'))).toBe(
      await store.read(),
    );
    expect(database.version).toBe(7);
    database.close();
    store.close?.();
  });

  test('can be deleted once the store is closed, even if it was closed while opening', async () => {
    const store = indexedDbStore(name);
    const reading = store.read();
    store.close?.();
    await reading.catch(() => {});
    store.close?.();
    await resultOf(indexedDB.deleteDatabase(name));
    expect((await indexedDB.databases()).map((database) => database.name)).not.toContain(name);
  });

  test('may fail to open: the call rejects, and the next one opens it', async () => {
    const failure = new DOMException('no', 'UnknownError');
    const open = vi.spyOn(indexedDB, 'open').mockImplementation(() => {
      const request = { error: failure } as unknown as IDBOpenDBRequest;
      queueMicrotask(() => request.onerror?.({ target: request } as never));
      return request;
    });
    const store = indexedDbStore(name);
    await expect(store.read()).rejects.toBe(failure);
    open.mockRestore();
    expect(await store.update(() => 1)).toBe(1);
    store.close?.();
  });

  test('may be denied (sandboxed frame): the call rejects instead of throwing', async () => {
    vi.spyOn(indexedDB, 'open').mockImplementation(throwing(new DOMException('denied', 'SecurityError')));
    const store = indexedDbStore(name);
    let reading: Promise<unknown> | undefined;
    expect(() => (reading = store.read())).not.toThrow();
    await expect(reading).rejects.toMatchObject({ name: 'SecurityError' });
  });

  test('may fail to open in advance: the first use rejects, and nothing before it', async () => {
    vi.spyOn(indexedDB, 'open').mockImplementation(throwing(new DOMException('denied', 'SecurityError')));
    const { seen, stop } = watchRejections();
    const store = indexedDbStore(name);
    store.open?.();
    await new Promise(setImmediate);
    stop();
    expect(seen).toEqual([]);
    await expect(store.read()).rejects.toMatchObject({ name: 'SecurityError' });
  });
});
