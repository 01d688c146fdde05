/** How far the record in memory agrees with the stored one: pure functions from state to state. */

/** The part of the page state that is about the store. */
export interface StorageState {
  /** The stored record has been read since the page was last away. */
  readonly isCurrent: boolean;
  /** The stored record has been read at least once. */
  readonly isKnown: boolean;
  /** Calls of the host that wait for the first read; until they are applied, nothing counts as known. */
  readonly queuedCalls: number;
  /** Writes in progress: memory may be ahead of the store. */
  readonly writes: number;
  /** How often the page has lost track of the store. A read that began before the last time does not count. */
  readonly absences: number;
  /** A damaged record was reported: once is enough, it is read again and again. */
  readonly isDamageReported: boolean;
  /** Where the record is kept: `indexeddb`, `memory`, or the `kind` of the host's store. */
  readonly persistence: string;
}

/** The state before anything has been read. `persistence` is the kind of the store. */
export function initialStorage(persistence: string): StorageState {
  return {
    isCurrent: false,
    isKnown: false,
    queuedCalls: 0,
    writes: 0,
    absences: 0,
    isDamageReported: false,
    persistence,
  };
}

/** Whatever is stored may have changed unseen. */
export function storeOutdated(storage: StorageState): StorageState {
  return { ...storage, isCurrent: false, absences: storage.absences + 1 };
}
