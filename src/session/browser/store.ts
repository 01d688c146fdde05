/**
 * Where the record is kept: IndexedDB (through idb-keyval), or the memory of the page.
 *
 * A store holds one value, reads it and changes it atomically. It does not know what the value means. `store-queue.ts` enforces
 * the time limits.
 */

import { promisifyRequest, type UseStore } from 'idb-keyval';

/** A place for one value. Supply your own to use a native preference store, or for tests. */
export interface Store {
  /** Shown in `state.persistence`; `custom` if left out. */
  readonly kind?: string;
  /** The value; undefined if there is none. */
  read(): Promise<unknown>;
  /**
   * Replace the value with `change(value)`, atomically among all users of the store; erase the value if the result is undefined.
   * An update that ends without calling `change` counts as failed.
   *
   * @returns the value that is now stored.
   */
  update(change: (stored: unknown) => unknown): Promise<unknown>;
  /**
   * Start to open the connection in advance; the first read or update reports a failure. A session without a consent gate calls
   * this first.
   */
  open?(): void;
  /** Release connections. The value stays. */
  close?(): void;
  /** Create the store that replaces this one, for the life of the page, if this one fails. Default: {@link memoryStore}. */
  spare?(value: unknown): Store;
}

/** The name of the object store, and the key of its one value. */
const NAME = 'session';

/**
 * Create a store in the IndexedDB database `name`. The database is opened at the first use, and again if the connection was
 * lost.
 *
 * The version of the database never changes (the record has its own version), so an old and a new runtime do not block each
 * other. If the database is deleted, the connection closes.
 *
 * Only `promisifyRequest` of idb-keyval is used. Its `createStore` keeps one connection for the life of the page and cannot close
 * it; its `get` and `update` would add its default store to the bundle, and `update` can neither erase a value nor leave it
 * unchanged. This store closes its connection, because an open one blocks deletion of the database and keeps the page out of the
 * back/forward cache. It reopens the connection when needed, because Safari drops the connections of background pages.
 *
 * @example createSession({ baseUrl, store: indexedDbStore('my-site') })
 */
export function indexedDbStore(name: string): Store {
  let opening: Promise<IDBDatabase> | undefined;

  const openDatabase = async (): Promise<IDBDatabase> => {
    const request = indexedDB.open(name);
    request.onupgradeneeded = () => request.result.createObjectStore(NAME);
    const database = await promisifyRequest(request);
    database.onversionchange = close;
    return database;
  };

  const close = (): void => {
    opening?.then(
      (database) => database.close(),
      () => {},
    );
    opening = undefined;
  };

  const connect = (): Promise<IDBDatabase> => (opening ??= openDatabase());

  const transact: UseStore = async (mode, work) => {
    const database = await connect();
    return work(database.transaction(NAME, mode).objectStore(NAME));
  };

  /**
   * Run a transaction; if the connection was lost, repeat it on a new one. A late transaction does not reconnect after `close()`.
   */
  const table: UseStore = (mode, work) => {
    const run = transact(mode, work);
    const used = opening;
    return run.catch((error) => {
      if (opening !== used) throw error;
      close();
      return transact(mode, work);
    });
  };

  return {
    kind: 'indexeddb',
    open: connect,
    read: () => table('readonly', (values) => promisifyRequest(values.get(NAME))),
    update: (change) =>
      table('readwrite', async (values) => {
        const stored = await promisifyRequest(values.get(NAME));
        const value = change(stored);
        if (value !== stored) {
          if (value === undefined) values.delete(NAME);
          else values.put(value, NAME);
        }
        const { transaction } = values;
        // Otherwise, the browser commits only after it has notified the page of the last request, and never if the page ends first.
        transaction.commit();
        await promisifyRequest(transaction);
        return value;
      }),
    close,
  };
}

/** Create a store that lasts as long as the page. */
export function memoryStore(value?: unknown): Store {
  let stored = value;
  return {
    kind: 'memory',
    read: async () => stored,
    update: async (change) => {
      stored = change(stored);
      return stored;
    },
  };
}

/** The default store. A missing IndexedDB (Node, some webviews) is not a failure. */
export function defaultStore(name: string): Store {
  return 'indexedDB' in globalThis ? indexedDbStore(name) : memoryStore();
}
