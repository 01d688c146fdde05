/**
 * The store of the drop-in's session, watched. The only file that knows members of the session's stored record: `set`,
 * `clearedAt`, `optedOut`, `generation` and `baseUrl`.
 *
 * It adds two things to the record: the time of the last login, logout or opt-out (`actAt`), and validity for another
 * `baseUrl`. If the database fails, it watches the memory that takes its place.
 */

import { indexedDbStore, memoryStore, type Store } from '../../session/index.ts';
import type { TokenSet } from '../../token/token-set.ts';

/** The members of the session's record that are used here, and the one that is added. */
export interface StoredRecord {
  readonly generation: number;
  readonly baseUrl: string;
  readonly set?: TokenSet | undefined;
  /** When the user logged out or opted out; absent once a set is supplied. */
  readonly clearedAt?: number | undefined;
  readonly optedOut?: boolean | undefined;
  /** When the user last logged in, logged out or opted out, epoch ms; absent if a session alone has written the record. */
  readonly actAt?: number | undefined;
}

export interface RecordStore extends Store {
  /** The record at the last read or write; undefined if nothing is stored. */
  view(): StoredRecord | undefined;
  /** The act that stores the set with this refresh token, or no set, was done at `actAt`, epoch ms. */
  expectAct(refreshToken: unknown, actAt: number): void;
}

/**
 * Create the store of a session.
 *
 * @param name     of the IndexedDB database.
 * @param baseUrl  of the session, as `parseBaseUrl` returns it.
 */
export function createRecordStore(name: string, baseUrl: string): RecordStore {
  let last: StoredRecord | undefined;
  let expected: { refreshToken: unknown; actAt: number } | undefined;
  let inUse: Store;

  const forThisOperator = (stored: StoredRecord | undefined) => stored && { ...stored, baseUrl };

  /** Apply a change of the session, and keep the time of the act behind it. */
  const changed = (stored: StoredRecord | undefined, change: (stored: unknown) => unknown) => {
    const before = forThisOperator(stored);
    const after = change(before) as StoredRecord | undefined;
    if (!after || after === before) return after && stored;
    if (after.generation === before?.generation) return { ...after, actAt: before.actAt };
    const isExpected = expected && after.set?.refreshToken === expected.refreshToken;
    // Acts of one browser stay in order even if its clock is set back.
    return { ...after, actAt: isExpected ? expected!.actAt : Math.max(Date.now(), (before?.actAt ?? 0) + 1) };
  };

  const watch = (store: Store): Store => {
    /** Note what is stored. A store that has failed may still answer: too late. */
    const note = (stored: unknown) => {
      if (inUse === watched) last = stored as StoredRecord | undefined;
      return last;
    };
    const watched: Store = {
      ...store,
      read: async () => forThisOperator(note(await store.read())),
      update: async (change) => note(await store.update((stored) => changed(stored as StoredRecord, change))),
      // The session's own record has no time.
      spare: (value) => watch(memoryStore({ ...(value as StoredRecord), actAt: last?.actAt ?? 0 })),
    };
    inUse = watched;
    return watched;
  };

  return {
    ...watch('indexedDB' in globalThis ? indexedDbStore(name) : memoryStore()),
    view: () => last,
    expectAct: (refreshToken, actAt) => {
      expected = { refreshToken, actAt };
    },
  };
}
