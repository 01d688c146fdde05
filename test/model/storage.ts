/**
 * The IndexedDB of a browser profile: fake-indexeddb, with the faults of real devices injected between it and the pages.
 *
 * As in a browser, the database runs in a process of its own: its tasks run whatever happens to a page. Its events are
 * delivered to the page that made the request: to a frozen page later, when the transaction is over; to a killed one never.
 */

import { type FakeDatabases, loadDatabases } from './bundle.ts';
import { eventOf } from './event-target.ts';
import type { Random } from './random.ts';
import type { Owner, Time } from './time.ts';

/**
 * - `openFails`, `openFailsOnce`: `open` fires `error`. `openThrows`: it throws. `openHangs`: it answers once the fault ends.
 * - `hangs`, `slow`, `sluggish`: all operations hang, take up to 0.12 s, or take so long that some uses exceed the session's
 *   limit of 1.5 s. `full`: nothing can be written.
 * - `readFails`: reading fails. `aborts`: every request succeeds, and the transaction that writes is aborted at its end.
 */
export type StorageFault =
  | 'none'
  | 'openFails'
  | 'openFailsOnce'
  | 'openThrows'
  | 'openHangs'
  | 'hangs'
  | 'slow'
  | 'sluggish'
  | 'full'
  | 'readFails'
  | 'aborts';

/**
 * A fault that happens at one instant and has lasting effects.
 *
 * - `lost`: every open connection fails at its next use. `closed`: the browser closes all connections.
 * - `wiped`, `deleted`: the data of the site, or the database, is deleted. `emptied`: the table of the database is deleted.
 * - `corrupt`: the record is replaced by an invalid one. `damaged`: one number in it is, and nothing else.
 */
export type StorageIncident = 'lost' | 'closed' | 'wiped' | 'deleted' | 'emptied' | 'corrupt' | 'damaged';

/** One copy for all profiles, which run one at a time. */
let take: (task: () => void) => void = () => {};
let databases: FakeDatabases | undefined;

type Handler = ((event: unknown) => unknown) | null;
interface Emitter {
  [handler: `on${string}`]: Handler;
}

/** How long one task of the database takes, ms. A use of the store has up to four. */
const DELAYS_MS: Partial<Record<StorageFault, readonly [least: number, most: number]>> = {
  slow: [10, 120],
  sluggish: [100, 700],
};

/** Invalid records. */
const GARBAGE: readonly unknown[] = [
  'garbage',
  42,
  { v: 99 },
  { v: 1, generation: 3, baseUrl: 'https://operator.example', offsetMs: 0 },
  { v: 2, generation: 'many', baseUrl: 'https://operator.example', offsetMs: 0 },
  { v: 2, generation: 3, baseUrl: 'https://operator.example', offsetMs: 0, set: { advertisingToken: 'x' } },
  { v: 2, generation: 2 ** 60, baseUrl: 'https://operator.example', offsetMs: 0 },
  { v: 2, generation: 3, baseUrl: 'https://operator.example', offsetMs: Number.NaN },
  { v: 2, generation: 3, baseUrl: 'https://operator.example', offsetMs: 0, acceptedUntil: 'abc' },
  { v: 2, generation: 3, baseUrl: 'https://operator.example', offsetMs: 0, set: { refreshToken: 7 } },
  [],
];

/** What is no number, or no plausible one. */
const BAD_NUMBERS: readonly unknown[] = [Number.NaN, Number.POSITIVE_INFINITY, 1e300, '5', 'soon', null, 7n, {}];

/** Replace one number in an object. */
const spoil = (given: Record<string, unknown>, random: Random): object => {
  const numbers = Object.keys(given).filter((name) => typeof given[name] === 'number' && name !== 'id');
  return { ...given, [random.pick(numbers)]: random.pick(BAD_NUMBERS) };
};
/** Replace one number of a record, of its retry state or of its lease. */
const damage = (record: Record<string, Record<string, unknown>>, random: Random): object => {
  const part = random.pick(['record', 'retry', 'lease']);
  if (part === 'record') return spoil(record, random);
  return { ...record, [part]: record[part] ? spoil(record[part], random) : {} };
};

/**
 * Called when a page uses its storage; `text` is the JSON that it writes.
 *
 * @param isVoid  the database has been deleted meanwhile.
 * @returns whether the page erases what is in a store that has failed.
 */
export type OnUse = (
  use: 'opens' | 'reads' | 'has read' | 'writes' | 'erases',
  text?: string,
  isVoid?: boolean,
) => boolean;

/** @param onLoss  called when the record is lost: by an incident, or erased by a page whose store has failed. */
export const createStorage = (
  time: Time,
  random: Random,
  onThrow: (error: unknown) => void,
  onLoss: (isIncident: boolean) => void,
) => {
  databases ??= loadDatabases((task) => take(task));
  const { IDBFactory } = databases;
  let fault: StorageFault = 'none';
  let factory = new IDBFactory();
  /** How often the database was deleted. */
  let deletions = 0;
  /** Tasks of the database that wait until a hang ends. */
  let held: (() => void)[] = [];
  /** Time of the latest task; tasks keep their order. */
  let lastAt = 0;
  const connections = new Set<{ db: IDBDatabase; owner: Owner | undefined; lose: () => void; tell: () => void }>();
  /** Open requests that hang. */
  let hung: (() => void)[] = [];
  /** Every record that was ever written, as JSON. */
  const written: string[] = [];

  take = (task) => {
    if (fault === 'hangs') {
      held.push(task);
      return;
    }
    const [least, most] = DELAYS_MS[fault] ?? [0, random.happens(0.2) ? 1 : 0];
    const delay = most > 1 ? random.integer(least, most) : most;
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

  /** The `indexedDB` of one page. */
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
          // An upgrade needs its page, so it is delivered as if just before the page was frozen.
          deliver(() => call(request, type, more), type === 'upgradeneeded');
        });
      return request;
    };
    const failing = (name: string): Emitter => {
      const error = new DOMException('injected fault', name);
      const request = { onsuccess: null, onerror: null, error, result: undefined } as unknown as Emitter;
      time.after(random.integer(0, 5), () => call(request, 'error'), owner);
      return request;
    };
    const wrapTable = (
      real: IDBObjectStore,
      transaction: unknown,
      isVoid: () => boolean,
      abort: (name: string) => void,
    ) => ({
      name: real.name,
      transaction,
      get: (key: IDBValidKey) => {
        onUse('reads');
        if (fault === 'readFails') {
          abort('UnknownError');
          return failing('UnknownError');
        }
        const request = real.get(key);
        request.addEventListener('success', () => deliver(() => void onUse('has read')));
        return wrapRequest(request);
      },
      put: (value: unknown, key: IDBValidKey) => {
        const text = JSON.stringify(value) ?? '';
        // It throws if the transaction is over, because the page was frozen meanwhile: nothing is written then.
        const request = fault === 'full' ? undefined : real.put(value, key);
        const isErasure = onUse('writes', text, isVoid());
        if (isErasure) real.transaction.addEventListener('complete', () => onLoss(false));
        if (!request) {
          abort('QuotaExceededError');
          return failing('QuotaExceededError');
        }
        written.push(text);
        return wrapRequest(request);
      },
      delete: (key: IDBValidKey) => {
        onUse('erases');
        real.transaction.addEventListener('complete', () => onLoss(false));
        return wrapRequest(real.delete(key));
      },
      clear: () => wrapRequest(real.clear()),
    });
    const wrapTransaction = (real: IDBTransaction, isVoid: () => boolean) => {
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
          wrapTable(real.objectStore(name), transaction, isVoid, (why) => {
            ownError = new DOMException('injected fault', why);
            try {
              real.abort();
            } catch {}
          }),
        abort: () => real.abort(),
        commit: () => {
          if (fault !== 'aborts' || real.mode === 'readonly') return real.commit();
          ownError = new DOMException('injected fault', 'QuotaExceededError');
          real.abort();
        },
      } as Emitter & { objectStore(name: string): unknown };
      for (const type of ['complete', 'abort', 'error'])
        real.addEventListener(type, () => deliver(() => call(transaction, type)));
      return transaction;
    };
    const wrapDatabase = (real: IDBDatabase, from: IDBFactory) => {
      let isLost = false;
      const before = deletions;
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
          return wrapTransaction(real.transaction(names, mode), () => deletions > before);
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
      // The data of the site was deleted while this connection was opened.
      if (from !== factory) {
        real.close();
        time.after(0, connection.tell);
      }
      real.addEventListener('versionchange', (event) => {
        // A frozen page does not block a deletion for ever: the browser closes its connection.
        if (owner.isGone || owner.deferred) real.close();
        else deliver(() => call(db, 'versionchange', { newVersion: (event as IDBVersionChangeEvent).newVersion }));
      });
      return db;
    };
    const openNow = (name: string, version?: number) => {
      let wrapped: unknown;
      const from = factory;
      const real = from.open(name, version);
      // As in a browser: the upgrade of a page that is gone is aborted, or the database would have no table for the next one.
      real.addEventListener('upgradeneeded', () => owner.isGone && real.transaction?.abort());
      // Register the connection at once, even if the page is frozen: it must close with its page and before a deletion.
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
    /** Close the connections of a page that is gone. */
    drop: (owner: Owner) => {
      for (const connection of [...connections]) {
        if (connection.owner !== owner) continue;
        connections.delete(connection);
        connection.db.close();
      }
    },
    incident: (kind: StorageIncident, name: string) => {
      if (kind === 'lost') for (const { lose } of connections) lose();
      else if (kind === 'deleted' || kind === 'emptied')
        factory.deleteDatabase(name).onsuccess = () => {
          deletions++;
          onLoss(true);
          if (kind === 'emptied')
            factory.open(name).onsuccess = ({ target }) => (target as IDBOpenDBRequest).result.close();
        };
      else if (kind === 'corrupt' || kind === 'damaged') {
        const request = factory.open(name);
        request.onupgradeneeded = () => request.result.createObjectStore('session');
        request.onsuccess = () => {
          const db = request.result;
          const hasTable = db.objectStoreNames.contains('session');
          const transaction = hasTable && db.transaction('session', 'readwrite');
          db.close();
          if (!transaction) return;
          const table = transaction.objectStore('session');
          table.get('session').onsuccess = ({ target }) => {
            const record = (target as IDBRequest).result as Parameters<typeof damage>[0] | undefined;
            if (kind === 'damaged' && !record) return;
            table.put(kind === 'damaged' ? damage(record!, random) : random.pick(GARBAGE), 'session');
            // Reported on completion: a hanging storage delays it.
            transaction.oncomplete = () => onLoss(true);
          };
        };
      } else {
        // The browser closes the connections, or deletes all data of the site.
        for (const { db, tell } of connections) {
          db.close();
          tell();
        }
        connections.clear();
        if (kind === 'wiped') {
          factory = new IDBFactory();
          deletions++;
        }
      }
    },
  };
};
export type ProfileStorage = ReturnType<typeof createStorage>;
