/** Where the record is kept: IndexedDB, or the memory of the page. `record-store.ts` enforces the time limits. */

import { promisifyRequest } from 'idb-keyval';
import { ignoreFailure } from '../../token/errors.ts';

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
}

/** The name of the object store, and the key of its one value. */
const NAME = 'session';

/** A database without the object store was created by another script, or emptied in developer tools: it is deleted, once. */
async function openDatabase(name: string, mayRepair = true): Promise<IDBDatabase> {
  const request = indexedDB.open(name);
  request.onupgradeneeded = () => request.result.createObjectStore(NAME);
  const database = await promisifyRequest(request);
  if (!mayRepair || database.objectStoreNames.contains(NAME)) return database;
  database.close();
  await promisifyRequest(indexedDB.deleteDatabase(name));
  return openDatabase(name, false);
}

/**
 * Create a store in the IndexedDB database `name`. The database is opened at the first use, and again if the connection was
 * lost.
 *
 * The version of the database never changes (the record has its own version), so an old and a new runtime do not block each
 * other. If the database is deleted, the connection closes.
 *
 * Of idb-keyval, `promisifyRequest` is used. Its `createStore` keeps one connection for the life of the page. This store closes its
 * connection, because an open one blocks deletion of the database and keeps the page out of the back/forward cache, and reopens it
 * when needed, because Safari drops the connections of background pages. Its `update` writes even what is unchanged, cannot erase,
 * and does not commit.
 *
 * @example createSession({ baseUrl, store: indexedDbStore('my-site') })
 */
export function indexedDbStore(name: string): Store {
  let opening: Promise<IDBDatabase> | undefined;

  const close = (): void => {
    ignoreFailure(() => opening?.then((database) => database.close()));
    opening = undefined;
  };

  const connect = (): Promise<IDBDatabase> => {
    // What is opened in advance may never be used.
    opening ??= ignoreFailure(() =>
      openDatabase(name).then((database) => {
        database.onversionchange = close;
        return database;
      }),
    )!;
    return opening;
  };

  /** If the connection was lost, repeat it on a new one. A late transaction does not reconnect after `close()`. */
  const transact = async <T>(
    mode: IDBTransactionMode,
    work: (values: IDBObjectStore) => Promise<T>,
    mayRepeat = true,
  ): Promise<T> => {
    const used = connect();
    try {
      return await work((await used).transaction(NAME, mode).objectStore(NAME));
    } catch (error) {
      if (!mayRepeat || opening !== used) throw error;
      close();
      return transact(mode, work, false);
    }
  };

  return {
    kind: 'indexeddb',
    open: connect,
    read: () => transact('readonly', (values) => promisifyRequest(values.get(NAME))),
    update: (change) => transact('readwrite', (values) => updateValue(values, change)),
    close,
  };
}

/** Writes inside the request's own callback: a page's own `Promise` may call back so late that the transaction has ended. */
function updateValue(values: IDBObjectStore, change: (stored: unknown) => unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const { transaction } = values;
    const request = values.get(NAME);
    request.onsuccess = () => {
      try {
        const value = change(request.result);
        if (value !== request.result) {
          if (value === undefined) values.delete(NAME);
          else values.put(value, NAME);
        }
        // Otherwise, the browser commits only after it has notified the page of the last request, and never if the page ends first.
        transaction.commit();
        transaction.oncomplete = () => resolve(value);
      } catch (error) {
        reject(error);
      }
    };
    transaction.onabort = () => reject(transaction.error);
  });
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
