/**
 * Where the record lives: IndexedDB (through idb-keyval), or the memory of the page.
 *
 * A store holds one value, reads it and changes it atomically. It neither knows what the value means nor waits for
 * time: the ledger bounds every call.
 */

import { promisifyRequest } from 'idb-keyval';

/** A place for one value. Bring your own for a native preference store, or for tests. */
export interface Store {
  /** Named in `state.persistence`; `custom` where left out. */
  readonly kind?: string;
  /** The value, undefined where there is none. */
  read(): Promise<unknown>;
  /**
   * Replace the value by `change(value)`, atomically among all users of the place; where that is undefined, erase it.
   *
   * @returns what is stored now.
   */
  update(change: (stored: unknown) => unknown): Promise<unknown>;
  /** Let go of connections. The value stays. */
  close?(): void;
}

const KEY = 'session';

/**
 * A store in the IndexedDB database `name`. Opened at the first use, and again when a connection was lost.
 *
 * The database's version never changes (the record carries its own), so an old and a new runtime do not block each
 * other; when somebody deletes the database, the connection gives way.
 */
export function indexedDbStore(name: string): Store {
  let opening: Promise<IDBDatabase> | undefined;
  const close = () => {
    opening?.then(
      (db) => db.close(),
      () => {},
    );
    opening = undefined;
  };
  const once = async <T>(mode: IDBTransactionMode, work: (table: IDBObjectStore) => Promise<T>): Promise<T> => {
    if (!opening) {
      const request = indexedDB.open(name);
      request.onupgradeneeded = () => request.result.createObjectStore(KEY);
      opening = promisifyRequest(request);
    }
    const db = await opening;
    db.onversionchange = close;
    return work(db.transaction(KEY, mode).objectStore(KEY));
  };
  const use: typeof once = (mode, work) =>
    once(mode, work).catch(() => {
      close();
      return once(mode, work);
    });
  return {
    kind: 'indexeddb',
    read: () => use('readonly', (table) => promisifyRequest(table.get(KEY))),
    // idb-keyval's own `get` and `update` would bring its default store along, at 150 bytes.
    update: (change) =>
      use('readwrite', async (table) => {
        const stored = await promisifyRequest(table.get(KEY));
        const value = change(stored);
        if (value === undefined) table.delete(KEY);
        else if (value !== stored) table.put(value, KEY);
        await promisifyRequest(table.transaction);
        return value;
      }),
    close,
  };
}

/** The store of a page that brings none. No IndexedDB at all (Node, some webviews) is no failure. */
export function ownStore(name: string): Store {
  return 'indexedDB' in globalThis ? indexedDbStore(name) : memoryStore();
}

/** A store that lasts as long as the page. */
export function memoryStore(value?: unknown): Store {
  return {
    kind: 'memory',
    read: async () => value,
    update: async (change) => (value = change(value)),
  };
}
