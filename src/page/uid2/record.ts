/**
 * The store of the drop-in's session, watched. The only file that knows members of the session's stored record: `set`,
 * `clearedAt`, `optedOut`, `generation` and `baseUrl`.
 *
 * It adds three things to the database: the time of the last login, logout or opt-out (`actAt`); a record that stays valid
 * for another `baseUrl`; and memory in place of a database that fails, so that the drop-in always knows the set in force.
 */

import { indexedDbStore, type Store } from '../../session/index.ts';
import type { TokenSet } from '../../token/token-set.ts';
import type { RecordView } from './precedence.ts';

/** The members of the session's record that are used here, and the one that is added. */
interface StoredRecord {
  readonly generation: number;
  readonly baseUrl: string;
  readonly set?: TokenSet | undefined;
  readonly clearedAt?: number | undefined;
  readonly optedOut?: boolean | undefined;
  readonly actAt?: number | undefined;
}

export interface RecordStore extends Store {
  /** The record at the last read or write; null if nothing is stored. */
  view(): RecordView | null;
  /** The database has failed: memory has taken its place. */
  isDatabaseLost(): boolean;
  /** The act that stores the set with this refresh token, or no set, was done at `actAt` elsewhere, epoch ms. */
  expectAct(refreshToken: unknown, actAt: number): void;
}

/** How long one use of the database may take, ms: less than the 1.5 s in which the session gives up. */
const DATABASE_MS = 1_000;

const inTime = <T>(promise: Promise<T>): Promise<T> => {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`IndexedDB did not answer within ${DATABASE_MS} ms`)), DATABASE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

/**
 * Create the store of a session.
 *
 * @param name     of the IndexedDB database.
 * @param baseUrl  of the session, as the session normalises it.
 */
export function createRecordStore(name: string, baseUrl: string): RecordStore {
  const database = 'indexedDB' in globalThis ? indexedDbStore(name) : undefined;
  let isLost = !database;
  let last: StoredRecord | undefined;
  let expected: { refreshToken: unknown; actAt: number } | undefined;

  const forThisOperator = (stored?: StoredRecord) =>
    stored && (stored.baseUrl === baseUrl ? stored : { ...stored, baseUrl });

  /** Apply a change of the session, and keep the time of the act behind it. */
  const changed = (
    stored: StoredRecord | undefined,
    change: (stored: unknown) => unknown,
  ): StoredRecord | undefined => {
    const before = forThisOperator(stored);
    const after = change(before) as StoredRecord | undefined;
    if (!after || after === before) return after && stored;
    if (after.generation === before?.generation) return { ...after, actAt: before.actAt };
    const isExpected = expected && after.set?.refreshToken === expected.refreshToken;
    // Acts of one browser stay in order even if its clock is set back.
    return { ...after, actAt: isExpected ? expected!.actAt : Math.max(Date.now(), (before?.actAt ?? 0) + 1) };
  };

  /** An older record would bring the user back whom a login or logout has replaced; an opt-out stays. */
  const eraseOlder = () => {
    const generation = last?.generation ?? 0;
    database
      ?.update((stored) => {
        const record = stored as StoredRecord | undefined;
        return record && !record.optedOut && record.generation < generation ? undefined : stored;
      })
      .catch(() => {});
  };

  return {
    kind: database ? 'indexeddb' : 'memory',
    read: async () => {
      if (!isLost) {
        await inTime(database!.read()).then(
          (stored) => (last = stored as StoredRecord | undefined),
          () => (isLost = true),
        );
      }
      return forThisOperator(last);
    },
    update: async (change) => {
      let isLate = false;
      if (!isLost) {
        const written = database!.update((stored) =>
          isLate ? stored : changed(stored as StoredRecord | undefined, change),
        );
        await inTime(written).then(
          (stored) => (last = stored as StoredRecord | undefined),
          () => {
            isLost = isLate = true;
          },
        );
        if (!isLost) return last;
      }
      const before = last;
      last = changed(last, change);
      if (last?.generation !== before?.generation) eraseOlder();
      return last;
    },
    close: () => database?.close?.(),
    isDatabaseLost: () => isLost,
    expectAct: (refreshToken, actAt) => {
      expected = { refreshToken, actAt };
    },
    view: () =>
      last
        ? {
            set: last.set,
            actAt: last.actAt ?? 0,
            isOptedOut: Boolean(last.optedOut),
            isCleared: last.clearedAt !== undefined,
          }
        : null,
  };
}
