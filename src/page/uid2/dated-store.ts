/**
 * The store of the drop-in's session, whose identity is also copied to cookies and local storage. It adds to the record what such
 * copies need:
 *
 * - the time of the last login, logout or opt-out (`actAt`), so that the newest of several copies wins;
 * - `view`, which returns what was last read or written, without another read;
 * - validity for another `baseUrl`, so that a site that changes its operator keeps its users signed in.
 *
 * If the database fails, all of this continues in memory for the life of the page, and the session does not notice.
 */

import { indexedDbStore, memoryStore, type Store } from '../../session/index.ts';
import type { TokenSet } from '../../token/token-set.ts';

/** The members of the record that are compared with the copies, and the added time. */
export interface DatedRecord {
  /** Incremented with every login, logout and opt-out. */
  readonly generation: number;
  readonly set?: TokenSet | undefined;
  /** When the user logged out or opted out, epoch ms. */
  readonly clearedAt?: number | undefined;
  readonly optedOut?: boolean | undefined;
  /** When the user last logged in, logged out or opted out, epoch ms; absent if a session alone has written the record. */
  readonly actAt?: number | undefined;
}

export interface DatedStore extends Store {
  /** The record at the last read or write; undefined if nothing is stored. */
  view(): DatedRecord | undefined;
  /**
   * Announce the act that stores the set with this refresh token, or no set. It took place at `actAt`, epoch ms; default: now,
   * but later than every known act. Returns that time.
   */
  expectAct(refreshToken: unknown, actAt?: number): number;
}

/** How long the database may take for an operation, ms. Less than the session permits. */
const LIMIT_MS = 1_000;

/**
 * Create a store that continues in memory, for the life of the page, once its database has failed. It never rejects, and knows
 * nothing about what is stored.
 *
 * @param known  returns the value with which memory starts: what was last read or written.
 */
function createFallbackStore(database: Store, known: () => unknown): Store {
  /** The database, or the memory that replaces it. */
  let store = database;

  const use = async (work: (place: Store) => Promise<unknown>): Promise<unknown> => {
    const place = store;
    try {
      const limit = new Promise((_, reject) => setTimeout(reject, LIMIT_MS));
      const result = await Promise.race([work(place), limit]);
      // Another operation may have found out meanwhile that the database fails.
      if (place === store) return result;
    } catch {
      store = memoryStore(known());
    }
    return work(store);
  };

  return {
    ...database,
    get kind() {
      return store.kind!;
    },
    read: () => use((place) => place.read()),
    // A database that answers too late changes nothing.
    update: (change) => use((place) => place.update((stored) => (place === store ? change(stored) : stored))),
  };
}

/** What is stored before the first act. */
const NOTHING: DatedRecord = { generation: 0, actAt: 0 };

/**
 * Keep the acts of one browser in order even if its clock is set back: return `actAt`, or the instant after the latest of `acts`.
 */
function inOrder(actAt: number, ...acts: readonly (Pick<DatedRecord, 'actAt'> | undefined)[]): number {
  return Math.max(actAt, ...acts.map((act) => (act?.actAt ?? 0) + 1));
}

/** Try once to erase what a failed database holds from before an act, so that the next page does not find it. */
function eraseBefore(database: Store, actAt: number): void {
  const isKept = (record?: DatedRecord) =>
    // A tombstone stays: the service has not accepted another user yet.
    record?.optedOut || Number(record?.actAt) >= actAt;
  database.update((stored) => (isKept(stored as DatedRecord | undefined) ? stored : undefined)).catch(() => {});
}

/**
 * Create the store.
 *
 * @param name     of the IndexedDB database.
 * @param baseUrl  of the session, as `parseBaseUrl` returns it.
 * @example
 * const store = createDatedStore('tessera-uid2', baseUrl);
 * const session = createSession({ baseUrl, store });
 * await session.ready;
 * store.view()?.actAt; // the time of the login
 */
export function createDatedStore(name: string, baseUrl: string): DatedStore {
  const database = 'indexedDB' in globalThis ? indexedDbStore(name) : memoryStore();
  const store = createFallbackStore(database, () => last);
  let last: DatedRecord | undefined;
  let expected: { refreshToken: unknown; actAt: number } | undefined;

  /** Read a stored record as one of this operator. The session checks its own members, but not the time. */
  const parse = (stored: unknown) => {
    const record = stored as DatedRecord | undefined;
    return record && { ...record, baseUrl, actAt: Number.isSafeInteger(record.actAt) ? record.actAt : undefined };
  };

  /** The announced act, if `record` is its outcome. */
  const expectedActIn = (record: DatedRecord | undefined) =>
    record?.set?.refreshToken === expected?.refreshToken ? expected : undefined;

  /** Apply a change of the session, and keep the time of the act that caused it. */
  const changed = (stored: unknown, change: (stored: unknown) => unknown) => {
    const before = parse(stored);
    const after = change(before) as DatedRecord | undefined;
    if (!after || after === before) return after && stored;
    const former = before ?? NOTHING;
    if (after.generation === former.generation) return { ...after, actAt: former.actAt };
    const actAt = expectedActIn(after)?.actAt ?? Date.now();
    if (store.kind !== database.kind) eraseBefore(database, actAt);
    return { ...after, actAt: inOrder(actAt, before) };
  };

  return {
    ...store,
    get kind() {
      return store.kind!;
    },
    read: async () => {
      last = parse(await store.read());
      return last;
    },
    update: async (change) => {
      last = parse(await store.update((stored) => changed(stored, change)));
      const act = expectedActIn(last);
      // The announced act is stored. A later one with the same outcome is a different act.
      if (act && (last?.actAt ?? 0) >= act.actAt) expected = undefined;
      return last;
    },
    view: () => last,
    expectAct: (refreshToken, actAt = inOrder(Date.now(), last, expected)) => {
      expected = { refreshToken, actAt };
      return actAt;
    },
  };
}
