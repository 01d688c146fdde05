/**
 * A store for a session whose identity is also copied elsewhere, as the drop-in does in cookies and local storage. It adds to the
 * record what such copies need:
 *
 * - the time of the last login, logout or opt-out (`actAt`), so that the newest of several copies wins;
 * - `view`, which returns what was last read or written, without another read;
 * - validity for another `baseUrl`, so that a site that changes its operator keeps its users signed in.
 *
 * If the database fails, all of this continues with the memory that replaces it.
 */

import type { TokenSet } from '../token/token-set.ts';
import { defaultStore, memoryStore, type Store } from './browser/store.ts';
import type { SessionRecord } from './rules/record.ts';

/** The members of the record that are compared with the copies, and the added time. */
export interface DatedRecord extends Pick<SessionRecord, 'generation' | 'baseUrl' | 'clearedAt' | 'optedOut'> {
  readonly set?: TokenSet | undefined;
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

/** Check what a store returned. The session checks its own members, but not the time. */
function checked(stored: unknown): DatedRecord | undefined {
  const record = stored as DatedRecord | undefined;
  return record && { ...record, actAt: Number.isSafeInteger(record.actAt) ? record.actAt : undefined };
}

/**
 * Keep the acts of one browser in order even if its clock is set back: return `actAt`, or the instant after the latest of `acts`.
 */
function inOrder(actAt: number, ...acts: readonly (Pick<DatedRecord, 'actAt'> | undefined)[]): number {
  return Math.max(actAt, ...acts.map((act) => (act?.actAt ?? 0) + 1));
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
  let last: DatedRecord | undefined;
  let expected: { refreshToken: unknown; actAt: number } | undefined;
  let inUse: Store;

  /** The announced act, if `record` is its outcome. */
  const expectedActIn = (record: DatedRecord | undefined) =>
    record?.set?.refreshToken === expected?.refreshToken ? expected : undefined;

  const forThisOperator = (stored: unknown) => {
    const record = checked(stored);
    return record && { ...record, baseUrl };
  };

  /** Apply a change of the session, and keep the time of the act that caused it. */
  const changed = (stored: unknown, change: (stored: unknown) => unknown) => {
    const before = forThisOperator(stored);
    const after = change(before) as DatedRecord | undefined;
    if (!after || after === before) return after && stored;
    if (after.generation === before?.generation) return { ...after, actAt: before.actAt };
    return { ...after, actAt: inOrder(expectedActIn(after)?.actAt ?? Date.now(), before) };
  };

  const watch = (store: Store): Store => {
    /** Note what is stored. Ignore late answers of a store that has failed. */
    const note = (stored: unknown) => {
      if (inUse === watched) last = checked(stored);
    };
    const watched: Store = {
      ...store,
      read: async () => {
        const stored = await store.read();
        note(stored);
        return forThisOperator(stored);
      },
      update: async (change) => {
        const stored = await store.update((before) => changed(before, change));
        const record = checked(stored);
        const act = expectedActIn(record);
        // The announced act is stored. A later one with the same outcome is a different act.
        if (act && (record?.actAt ?? 0) >= act.actAt) expected = undefined;
        note(stored);
        return stored;
      },
      // The session's own record has no time.
      spare: (value) => watch(memoryStore({ ...(value as DatedRecord), actAt: last?.actAt ?? 0 })),
    };
    inUse = watched;
    return watched;
  };

  return {
    ...watch(defaultStore(name)),
    view: () => last,
    expectAct: (refreshToken, actAt = inOrder(Date.now(), last, expected)) => {
      expected = { refreshToken, actAt };
      return actAt;
    },
  };
}
