/**
 * IndexedDB of a browser profile: fake-indexeddb with the faults of the field put between it and the pages.
 *
 * The database is a process of its own: its tasks run whatever becomes of a page. What it tells a page goes through the
 * page's hands: a frozen page hears it later, when the transaction is over; a page that is gone, never.
 */

import { type FakeDatabases, loadDatabases } from './bundle.ts';
import { eventOf } from './event-target.ts';
import type { Random } from './random.ts';
import type { Owner, Time } from './time.ts';

/**
 * - `openFails`, `openFailsOnce`: `open` ends in an error. `openThrows`: it throws. `openHangs`: it never answers, or once the fault is gone.
 * - `hangs`, `slow`: so does everything. `lost`: every connection there is fails at its next use. `full`: nothing can be written.
 */
export type StorageFault =
  | 'none'
  | 'openFails'
  | 'openFailsOnce'
  | 'openThrows'
  | 'openHangs'
  | 'hangs'
  | 'slow'
  | 'full';

/** A blow: it is over at once, what it left is not. */
export type StorageIncident = 'lost' | 'closed' | 'wiped' | 'deleted' | 'corrupt';

// One copy for all worlds, which run one at a time.
let take: (task: () => void) => void = () => {};
let databases: FakeDatabases | undefined;

type Handler = ((event: unknown) => unknown) | null;
interface Emitter {
  [handler: `on${string}`]: Handler;
}

/** What a record must not be. */
const GARBAGE: readonly unknown[] = [
  'garbage',
  42,
  { v: 99 },
  { v: 1, generation: 'many', baseUrl: 'https://operator.example', offsetMs: 0 },
  { v: 1, generation: 3, baseUrl: 'https://operator.example', offsetMs: 0, set: { advertisingToken: 'x' } },
  [],
];

/** What a page does with its storage; `text` is what it writes. */
export type OnUse = (use: 'opens' | 'reads' | 'writes' | 'erases', text?: string) => void;

/** @param onLoss  the record is gone: by a blow, or erased by a page that can write nothing in its place. */
export const createStorage = (time: Time, random: Random, onThrow: (error: unknown) => void, onLoss: () => void) => {
  databases ??= loadDatabases((task) => take(task));
  const { IDBFactory } = databases;
  let fault: StorageFault = 'none';
  let factory = new IDBFactory();
  /** Tasks of the database that wait for a hang to end. */
  let held: (() => void)[] = [];
  /** Instant of the latest task: they keep their order. */
  let lastAt = 0;
  const connections = new Set<{ db: IDBDatabase; owner: Owner | undefined; lose: () => void; tell: () => void }>();
  /** Opens that have not been answered. */
  let hung: (() => void)[] = [];
  /** Every text that has ever been in the store. */
  const written: string[] = [];

  take = (task) => {
    if (fault === 'hangs') {
      held.push(task);
      return;
    }
    const delay = fault === 'slow' ? random.integer(10, 120) : random.happens(0.2) ? 1 : 0;
    lastAt = Math.max(lastAt, time.nowMs + delay);
    time.after(lastAt - time.nowMs, task);
  };

  const release = () => {
    const tasks = held;
    held = [];
    for (const task of tasks) take(task);
    const opens = hung;
    hung = [];
    for (const open of opens) open();
  };

  /** IndexedDB as one page sees it. */
  const of = (owner: Owner, onUse: OnUse) => {
    const deliver = (run: () => void, atOnce = false) => {
      if (owner.isGone) return;
      if (owner.deferred && !atOnce) {
        owner.deferred.push({ dueAt: time.nowMs, owner, postpone: undefined, run });
        return;
      }
      owner.enter?.();
      run();
    };
    const call = (target: Emitter, type: string, more: object = {}) => {
      try {
        target[`on${type}`]?.(eventOf(type, target, more));
      } catch (error) {
        onThrow(error);
      }
    };
    const wrapRequest = (real: IDBRequest, resultOf: (result: unknown) => unknown = (result) => result) => {
      const request = {
        onsuccess: null,
        onerror: null,
        onblocked: null,
        onupgradeneeded: null,
        get result() {
          return resultOf(real.result);
        },
        get error() {
          return real.error;
        },
        get readyState() {
          return real.readyState;
        },
      } as Emitter & { result: unknown };
      for (const type of ['success', 'error', 'blocked', 'upgradeneeded'])
        real.addEventListener(type, (event) => {
          if (type === 'error') event.preventDefault();
          const more = { oldVersion: (event as IDBVersionChangeEvent).oldVersion };
          // An upgrade waits for its page: as if it had come just before the page was frozen.
          deliver(() => call(request, type, more), type === 'upgradeneeded');
        });
      return request;
    };
    const failing = (name: string): Emitter => {
      const error = new DOMException('by fault', name);
      const request = { onsuccess: null, onerror: null, error, result: undefined } as unknown as Emitter;
      time.after(random.integer(0, 5), () => call(request, 'error'), owner);
      return request;
    };
    const wrapTable = (real: IDBObjectStore, transaction: unknown, abort: (name: string) => void) => ({
      name: real.name,
      transaction,
      get: (key: IDBValidKey) => {
        onUse('reads');
        return wrapRequest(real.get(key));
      },
      put: (value: unknown, key: IDBValidKey) => {
        onUse('writes', JSON.stringify(value) ?? '');
        if (fault === 'full') {
          abort('QuotaExceededError');
          return failing('QuotaExceededError');
        }
        written.push(JSON.stringify(value) ?? '');
        return wrapRequest(real.put(value, key));
      },
      delete: (key: IDBValidKey) => {
        onUse('erases');
        if (fault === 'full') onLoss();
        return wrapRequest(real.delete(key));
      },
      clear: () => wrapRequest(real.clear()),
    });
    const wrapTransaction = (real: IDBTransaction) => {
      let ownError: DOMException | undefined;
      const transaction = {
        oncomplete: null,
        onabort: null,
        onerror: null,
        get error() {
          return ownError ?? real.error;
        },
        mode: real.mode,
        objectStore: (name: string) =>
          wrapTable(real.objectStore(name), transaction, (why) => {
            ownError = new DOMException('by fault', why);
            try {
              real.abort();
            } catch {}
          }),
        abort: () => real.abort(),
        commit: () => real.commit(),
      } as Emitter & { objectStore(name: string): unknown };
      for (const type of ['complete', 'abort', 'error'])
        real.addEventListener(type, () => deliver(() => call(transaction, type)));
      return transaction;
    };
    const wrapDatabase = (real: IDBDatabase, from: IDBFactory) => {
      let isLost = false;
      const db = {
        name: real.name,
        version: real.version,
        objectStoreNames: real.objectStoreNames,
        onversionchange: null,
        onclose: null,
        onerror: null,
        onabort: null,
        createObjectStore: (name: string) => real.createObjectStore(name),
        transaction: (names: string | string[], mode?: IDBTransactionMode) => {
          if (isLost) throw new DOMException('Connection lost', 'InvalidStateError');
          return wrapTransaction(real.transaction(names, mode));
        },
        close: () => {
          real.close();
          connections.delete(connection);
        },
      } as unknown as Emitter;
      const connection = {
        db: real,
        owner,
        lose: () => {
          isLost = true;
        },
        tell: () => deliver(() => call(db, 'close')),
      };
      connections.add(connection);
      // What it belongs to has been deleted while it was opened.
      if (from !== factory) {
        real.close();
        time.after(0, connection.tell);
      }
      real.addEventListener('versionchange', (event) => {
        // A page that cannot be told does not hold up the deletion for ever: the browser gives up on it.
        if (owner.isGone || owner.deferred) real.close();
        else deliver(() => call(db, 'versionchange', { newVersion: (event as IDBVersionChangeEvent).newVersion }));
      });
      return db;
    };
    const openNow = (name: string, version?: number) => {
      let wrapped: unknown;
      const from = factory;
      const real = from.open(name, version);
      // Known at once, whoever hears of it: a connection is closed with its page, and gives way to a deletion.
      real.addEventListener('success', () => {
        if (owner.isGone) real.result.close();
        else wrapped ??= wrapDatabase(real.result, from);
      });
      return wrapRequest(real, (db) => db && (wrapped ??= wrapDatabase(db as IDBDatabase, from)));
    };
    return {
      open: (name: string, version?: number) => {
        onUse('opens');
        if (fault === 'openThrows') throw new DOMException('refused', 'SecurityError');
        if (fault === 'openFails') return failing('UnknownError');
        if (fault === 'openFailsOnce') {
          fault = 'none';
          return failing('UnknownError');
        }
        if (fault !== 'openHangs') return openNow(name, version);
        const late = { onsuccess: null, onerror: null, onupgradeneeded: null, result: undefined } as unknown as Emitter;
        hung.push(() => {
          if (owner.isGone) return;
          const real = openNow(name, version);
          for (const type of ['success', 'error', 'upgradeneeded'])
            (real as Emitter)[`on${type}`] = (event: unknown) => {
              Object.defineProperty(late, 'result', { get: () => real.result, configurable: true });
              late[`on${type}`]?.(event);
            };
        });
        return late;
      },
      deleteDatabase: (name: string) => wrapRequest(factory.deleteDatabase(name)),
      databases: () => factory.databases(),
      cmp: (a: unknown, b: unknown) => factory.cmp(a, b),
    };
  };

  return {
    of,
    written,
    get fault() {
      return fault;
    },
    setFault: (next: StorageFault) => {
      fault = next;
      if (next !== 'hangs' && next !== 'openHangs') release();
    },
    /** A page is gone: so are its connections, and what it had not finished. */
    drop: (owner: Owner) => {
      for (const connection of [...connections]) {
        if (connection.owner !== owner) continue;
        connections.delete(connection);
        connection.db.close();
      }
    },
    incident: (kind: StorageIncident, name: string) => {
      if (kind === 'lost') for (const { lose } of connections) lose();
      else if (kind === 'deleted') factory.deleteDatabase(name).onsuccess = onLoss;
      else if (kind === 'corrupt') {
        const request = factory.open(name);
        request.onupgradeneeded = () => request.result.createObjectStore('session');
        request.onsuccess = () => {
          const db = request.result;
          const transaction = db.transaction('session', 'readwrite');
          transaction.objectStore('session').put(random.pick(GARBAGE), 'session');
          // Where the disk hangs, only then.
          transaction.oncomplete = onLoss;
          db.close();
        };
      } else {
        // Closed by the browser, or all data of the site deleted.
        for (const { db, tell } of connections) {
          db.close();
          tell();
        }
        connections.clear();
        if (kind === 'wiped') factory = new IDBFactory();
      }
    },
  };
};
export type ProfileStorage = ReturnType<typeof createStorage>;
