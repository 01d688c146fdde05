/**
 * Where the record lives: IndexedDB (through idb-keyval), or the memory of the page.
 *
 * A store holds one value, reads it and changes it atomically. It neither knows what the value means nor waits for
 * time: the ledger bounds every call.
 */

import type { UseStore } from 'idb-keyval';
import { createStore, promisifyRequest } from 'idb-keyval';

/** A place for one value. Bring your own for a native preference store, or for tests. */
export interface Store {
  /** Named in `state.persistence`; `custom` where left out. */
  readonly kind?: string;
  /** The value, undefined where there is none. */
  read(): Promise<unknown>;
  /**
   * Replace the value by `change(value)`, atomically among all users of the place.
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
export const indexedDbStore = (name: string): Store => {
  let place: UseStore | undefined;
  let db: IDBDatabase | undefined;
  const close = () => {
    db?.close();
    db = place = undefined;
  };
  const once: UseStore = (mode, work) => {
    place ??= createStore(name, 'tessera');
    return place(mode, (table) => {
      ({ db } = table.transaction);
      db.onversionchange = close;
      return work(table);
    });
  };
  // Safari loses connections without an event: the dead handle shows only in use, and one fresh one is tried.
  const use: UseStore = (mode, work) =>
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
        const value = change(await promisifyRequest(table.get(KEY)));
        table.put(value, KEY);
        await promisifyRequest(table.transaction);
        return value;
      }),
    close,
  };
};

/** A store that lasts as long as the page. */
export const memoryStore = (value?: unknown): Store => ({
  kind: 'memory',
  read: async () => value,
  update: async (change) => (value = change(value)),
});
