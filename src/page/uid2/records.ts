/**
 * The store of the drop-in's session: its database together with the places to which pages and servers write. A record is valid for
 * another `baseUrl` too, so a site that changes its operator keeps its users signed in. If the database fails, all of this continues
 * in memory for the life of the page, and the session does not notice.
 */

import { indexedDbStore, memoryStore, type Store } from '../../session/index.ts';
import { emptyRecord, parseRecord, type SessionRecord } from '../../session/rules/record.ts';
import { withTimeout } from '../../session/timeout.ts';
import { type Candidate, withNewest } from './precedence.ts';

export interface Records extends Store {
  /** The record at the last read or write; empty before. */
  view(): SessionRecord;
}

/** How long the database may take for an operation, ms. Less than the session permits. */
const LIMIT_MS = 1_000;

/** `newest` returns the newest copy or mark in the places. */
export function createRecords(name: string, baseUrl: string, newest: () => Candidate | undefined): Records {
  const database = 'indexedDB' in globalThis ? indexedDbStore(name) : memoryStore();
  /** The database, or the memory that replaces it. */
  let store = database;
  let last = emptyRecord(baseUrl);
  const parse = (stored: unknown) => {
    // What another operator has answered says nothing about this one.
    const isForeign = (stored as SessionRecord | undefined)?.baseUrl !== baseUrl;
    const more = isForeign ? { baseUrl, ended: undefined, retry: undefined } : {};
    return parseRecord(stored && { ...stored, ...more }, baseUrl);
  };

  /** Try once to erase what a failed database holds, so that the next page does not find it. The tombstone of an opt-out stays. */
  const eraseBefore = (changedAt: number) => {
    const isKept = (record: SessionRecord) => record.optedOut || record.changedAt >= changedAt;
    database.update((stored) => (isKept(parse(stored)) ? stored : undefined)).catch(() => {});
  };

  const updateIn = (place: Store, change: (stored: unknown) => unknown) =>
    place.update((stored) => {
      // A database that answers too late changes nothing.
      if (place !== store) return stored;
      const before = parse(stored);
      const followed = withNewest(before, newest());
      const after = change(followed) as SessionRecord;
      if (after === before) return stored;
      // Changes stay in order even if the clock is set back.
      const isLater = after.generation === followed.generation || after.changedAt > followed.changedAt;
      const changedAt = isLater ? after.changedAt : followed.changedAt + 1;
      if (place !== database) eraseBefore(changedAt);
      return { ...after, changedAt };
    });

  const update = async (change: (stored: unknown) => unknown) => {
    const result = await withTimeout(LIMIT_MS, () => updateIn(store, change), name).catch(() => {
      store = memoryStore(last);
      return updateIn(store, change);
    });
    last = parse(result);
    return last;
  };

  return {
    ...database,
    get kind() {
      return store.kind!;
    },
    // What follows from the places is also stored.
    read: () => update((stored) => stored),
    update,
    view: () => last,
  };
}
