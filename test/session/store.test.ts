/** The store in IndexedDB. `fake-indexeddb` stands for the browser's; nothing here has a clock. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { indexedDbStore, memoryStore } from '../../src/session/index.ts';

let name = '';
let testNumber = 0;
beforeEach(() => void (name = `store-${testNumber++}`));
afterEach(() => void vi.restoreAllMocks());

const settled = <T>(request: IDBRequest<T>) =>
  new Promise<T>((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** Every connection that is opened from now on. */
const connections = () => {
  const opened: IDBDatabase[] = [];
  const open = indexedDB.open.bind(indexedDB);
  vi.spyOn(indexedDB, 'open').mockImplementation((...given) => {
    const request = open(...given);
    request.addEventListener('success', () => opened.push(request.result));
    return request;
  });
  return opened;
};

describe.each([
  ['IndexedDB', () => indexedDbStore(name)],
  ['memory', () => memoryStore()],
])('a store in %s', (_, create) => {
  test('has nothing at first, and gives back what was written', async () => {
    const store = create();
    expect(await store.read()).toBeUndefined();
    const value = { text: 'ø', list: [1, { two: 2 }], none: undefined };
    expect(await store.update(() => value)).toEqual(value);
    expect(await store.read()).toEqual(value);
    store.close?.();
  });

  test('shows an update what is stored, and answers with what is stored then', async () => {
    const store = create();
    await store.update(() => 1);
    expect(await store.update((stored) => (stored as number) + 1)).toBe(2);
    expect(await store.read()).toBe(2);
    store.close?.();
  });

  test('applies updates one after the other, whoever starts them at once', async () => {
    const store = create();
    await Promise.all(Array.from({ length: 20 }, () => store.update((stored) => ((stored as number) ?? 0) + 1)));
    expect(await store.read()).toBe(20);
    store.close?.();
  });

  test('rejects with what an update throws, and keeps the value', async () => {
    const store = create();
    await store.update(() => 'kept');
    const change = () => {
      throw new Error('of the change');
    };
    await expect((async () => store.update(change))()).rejects.toThrow('of the change');
    expect(await store.read()).toBe('kept');
    store.close?.();
  });
});

describe('the database', () => {
  test('is opened at the first use, and once', async () => {
    const opened = connections();
    const store = indexedDbStore(name);
    expect(indexedDB.open).not.toHaveBeenCalled();
    await Promise.all([store.read(), store.read(), store.update(() => 1)]);
    await store.read();
    expect(opened).toHaveLength(1);
    store.close?.();
  });

  test('keeps the value for the next store of its name, and for no other', async () => {
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

  test('is shared by two stores that are open at once: their updates interleave and none is lost', async () => {
    const stores = [indexedDbStore(name), indexedDbStore(name)];
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => stores[n % 2]!.update((stored) => ((stored as number) ?? 0) + 1)),
    );
    for (const store of stores) {
      expect(await store.read()).toBe(20);
      store.close?.();
    }
  });

  test('is opened anew where the connection was closed under the store', async () => {
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

  test('can be deleted by somebody else while the store is open; the store begins anew', async () => {
    const store = indexedDbStore(name);
    await store.update(() => 'gone');
    await settled(indexedDB.deleteDatabase(name));
    expect(await store.read()).toBeUndefined();
    await store.update(() => 'new');
    expect(await store.read()).toBe('new');
    store.close?.();
  });

  test('can be upgraded by somebody else while the store is open: both go on, on one value', async () => {
    const store = indexedDbStore(name);
    await store.update(() => 'mine');
    const upgrade = indexedDB.open(name, 7);
    const blocked = new Promise<never>((_, reject) => {
      upgrade.onblocked = () => reject(new Error('blocked'));
    });
    const database = await Promise.race([settled(upgrade), blocked]);
    expect(await store.update((stored) => `${stored}, and after the upgrade`)).toBe('mine, and after the upgrade');
    expect(await settled(database.transaction('session').objectStore('session').get('session'))).toBe(
      await store.read(),
    );
    expect(database.version).toBe(7);
    database.close();
    store.close?.();
  });

  test('can be deleted once the store is closed, also where it was closed while opening', async () => {
    const store = indexedDbStore(name);
    const reading = store.read();
    store.close?.();
    await reading.catch(() => {});
    store.close?.();
    await settled(indexedDB.deleteDatabase(name));
    expect((await indexedDB.databases()).map((database) => database.name)).not.toContain(name);
  });

  test('that fails to open fails the call, and may open at the next', async () => {
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

  test('that may not be opened at all (a sandboxed frame) fails the call as a promise', async () => {
    vi.spyOn(indexedDB, 'open').mockImplementation(() => {
      throw new DOMException('denied', 'SecurityError');
    });
    const store = indexedDbStore(name);
    let reading: Promise<unknown> | undefined;
    expect(() => (reading = store.read())).not.toThrow();
    await expect(reading).rejects.toMatchObject({ name: 'SecurityError' });
  });
});
