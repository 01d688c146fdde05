/**
 * The record in memory and in storage, and the one way to change it.
 *
 * A transition of the host is applied to memory at once; every transition is applied to storage in order, each inside one
 * atomic update. This file knows neither network nor events nor what a transition means.
 */

import { TokenError } from '../token/errors.ts';
import type { Store } from './browser/store.ts';
import { withTimeout } from './browser/timeout.ts';
import { type Cause, isLoaded, type PageState, type StorageState, storeForgotten } from './rules/page-state.ts';
import { emptyRecord, erased, parseRecord, type SessionRecord, type Transition } from './rules/record.ts';

/** Limit for opening the store and the first read together, and for each later use of it, ms. */
const STORE_MS = 1_500;
/** Limit for reading a store that failed before, within such a use, ms. */
const FAILED_STORE_MS = 1_000;

/** What the record store asks of the shell, and reports to it. */
export interface RecordStorePorts {
  page(): PageState;
  /** Replace a part of the page state. */
  setStorage(change: Partial<StorageState>): void;
  /** The record in memory changes from `before` to `after`. */
  adopt(before: SessionRecord, after: SessionRecord, cause: Cause): void;
  /** A store failed, or holds a damaged record. */
  reportError(error: TokenError): void;
}

/** How a record is changed. */
export interface UpdateOptions {
  /** Named by the `token` event if the change brings another token. */
  readonly cause: Cause;
  /** A call of the host: it changes memory at once, and it is repeated on a store that has failed. */
  readonly isHostCall: boolean;
  /** It only erases, which needs no consent. */
  readonly isErasure?: boolean | undefined;
}

export type RecordStore = ReturnType<typeof createRecordStore>;

/**
 * Create the record store of one session.
 *
 * @param given      the store to use.
 * @param makeSpare  makes the store that replaces it when it fails.
 */
export function createRecordStore(
  baseUrl: string,
  given: Store,
  makeSpare: (value: unknown) => Store,
  ports: RecordStorePorts,
) {
  const empty = emptyRecord(baseUrl);
  /** The record of this page, even while the page must not rely on it. */
  let record = empty;
  /** The store in use. */
  let store = given;
  /** The store that failed, while memory replaces it. */
  let failedStore: Store | undefined;
  /** Lets the queue run. */
  let open = () => {};
  /** Resolves when every use of the store so far has ended. */
  let queue: Promise<unknown> = new Promise<void>((resolve) => {
    open = resolve;
  });
  /** Resolves when every host call so far has been repeated on the failed store. */
  let repeated: Promise<unknown> = Promise.resolve();

  const storage = () => ports.page().storage;
  const mayWrite = (isErasure = false) => isErasure || ports.page().consent !== 'refused';

  const adopt = (next: SessionRecord, cause: Cause) => {
    const before = record;
    record = next;
    ports.adopt(before, next, cause);
  };

  const parse = (stored: unknown): SessionRecord | undefined => {
    try {
      return parseRecord(stored, baseUrl);
    } catch (cause) {
      if (!storage().isDamageReported)
        ports.reportError(storageError('the stored record is damaged and is ignored', cause));
      ports.setStorage({ isDamageReported: true });
      return undefined;
    }
  };

  /** Memory replaces the store in use. */
  const replaceStore = (cause: unknown) => {
    close(store);
    failedStore ??= store;
    // A page that was away cannot know whether its user has logged out meanwhile.
    if (!storage().isCurrent) record = erased(record);
    store = makeSpare(record);
    ports.setStorage({ persistence: store.kind ?? 'custom' });
    ports.reportError(storageError('the store failed; this page continues in memory', cause));
  };

  /** Use the store once, bounded in time; if it fails, use its replacement. */
  const tryStore = async (work: (place: Store) => Promise<unknown>, mayRepeat = true): Promise<unknown> => {
    const { absences } = storage();
    try {
      return await withTimeout(STORE_MS, work(store), 'the store');
    } catch (cause) {
      // Time that a frozen page spent asleep is not the store's fault: try once more.
      if (mayRepeat && storage().absences > absences) return tryStore(work, false);
      replaceStore(cause);
      return work(store);
    }
  };

  /** Use the store after everything before has ended. */
  const enqueue = <T>(work: (place: Store) => Promise<unknown>, then: (value: unknown) => T): Promise<T> => {
    const used = queue.then(() => tryStore(work)).then(then);
    queue = used.catch(() => {});
    return used;
  };

  /**
   * Apply a call of the host to the store that failed, so that the next page does not meet a user who has left: if nothing
   * can be written there, what was there is erased. After its time limit it does nothing: by then somebody else's record may
   * be stored.
   */
  const repeatOnFailedStore = async (place: Store, transition: Transition, isErasure: boolean | undefined) => {
    let isLate = false;
    let before: SessionRecord | undefined;
    // An asynchronous function: a store of the host may throw where it should reject.
    const write = async (change: (before: SessionRecord, stored: unknown) => unknown) =>
      place.update((stored) => {
        if (isLate || !mayWrite(isErasure)) return stored;
        before ??= parse(stored) ?? empty;
        return change(before, stored);
      });
    const apply = () => write(transition);
    // A tombstone stays: a set that is held back behind it belongs to no user.
    const erase = () => write((found, stored) => (found.optedOut || !found.set ? stored : undefined));
    await withTimeout(
      STORE_MS,
      apply().catch(() => erase().then(apply)),
      'the store that failed',
    ).catch(() => {});
    isLate = true;
    close(place);
  };

  /** What the store that failed holds, if another tab has logged out there since this page received its set. */
  const logoutInFailedStore = async (place: Store): Promise<SessionRecord | undefined> => {
    const read = withTimeout(FAILED_STORE_MS, place.read(), 'the store that failed');
    const theirs = parse(await read.catch(() => undefined));
    return theirs?.clearedAt !== undefined && theirs.clearedAt >= (record.receivedAt ?? 0) ? theirs : undefined;
  };

  return {
    /** The record of this page; what it means while it is not loaded, `decide` knows. */
    get record() {
      return record;
    },

    /** Let the store be used: there is consent. */
    open(): void {
      ports.setStorage({ isOpen: true });
      open();
    },

    /** Resolve when every use of the store so far has ended; at once while none may begin. */
    async flushed(): Promise<unknown> {
      return storage().isOpen && queue;
    },

    /** Resolve when every host call so far is repeated on a store that has failed. */
    repeated: (): Promise<unknown> => repeated,

    /**
     * Change the record: in memory at once for a call of the host on a loaded page, then in the store.
     *
     * @returns whether the transition changed what was stored.
     */
    update(transition: Transition, { cause, isHostCall, isErasure }: UpdateOptions): Promise<boolean> {
      const isApplied = isHostCall && isLoaded(ports.page());
      const queuedCalls = isHostCall && !isApplied ? 1 : 0;
      if (isApplied) adopt(transition(record), cause);
      ports.setStorage({ writes: storage().writes + 1, queuedCalls: storage().queuedCalls + queuedCalls });
      let before: SessionRecord | undefined;
      let after: SessionRecord | undefined;
      const write = (place: Store) =>
        place.update((stored) => {
          // A store that failed may still get here: too late.
          if (place !== store || !mayWrite(isErasure)) return stored;
          // A store that is empty, was emptied or is damaged takes over what this page holds.
          before = parse(stored) ?? (isApplied ? undefined : record);
          after = before ? transition(before) : record;
          return after === before ? stored : after;
        });
      return enqueue(write, () => {
        ports.setStorage({ writes: storage().writes - 1, queuedCalls: storage().queuedCalls - queuedCalls });
        const isChanged = after !== before;
        // With another write to follow, memory already holds what that one brings.
        if (after && storage().writes === 0 && isLoaded(ports.page())) adopt(after, isChanged ? cause : 'tab');
        const place = failedStore;
        if (place && isHostCall) repeated = repeated.then(() => repeatOnFailedStore(place, transition, isErasure));
        return isChanged;
      });
    },

    /**
     * Read the store, for the first time or again.
     *
     * @param isNews  another tab has said that the record changed.
     */
    reload(isNews = false): Promise<void> {
      const { absences, isKnown, isCurrent } = storage();
      // A page that was away has received no message.
      const mayHaveChanged = isNews || (isKnown && !isCurrent);
      const read = async (place: Store) => {
        const logout = failedStore && mayHaveChanged && (await logoutInFailedStore(failedStore));
        return logout ? place.update(() => logout) : place.read();
      };
      return enqueue(read, (stored) => {
        if (storage().absences > absences) return;
        const next = parse(stored);
        if (!storage().isKnown && next) adopt(next, 'load');
        ports.setStorage({ isCurrent: true, isKnown: true });
        if (storage().writes > 0) return;
        if (next) adopt(next, 'tab');
        // An empty store is no logout for a page that was there all the time. If the page was away, or another tab says so,
        // it is: a logout on a full disk leaves nothing else behind.
        else if (mayHaveChanged) adopt({ ...empty, clearedAt: 0 }, 'tab');
      });
    },

    /** Know nothing about the store until the next {@link reload}. */
    forget(): void {
      ports.setStorage(storeForgotten(storage()));
    },

    /** Release the connection until the store is used again. */
    disconnect(): void {
      close(store);
    },

    /** Release the store once everything is written. What still waits for consent is dropped. */
    async close(): Promise<void> {
      if (!storage().isOpen) store = makeSpare(undefined);
      open();
      await queue;
      await repeated;
      close(store);
    },
  };
}

function close(store: Store): void {
  try {
    store.close?.();
  } catch {
    // The host's store may throw; nothing depends on it any more.
  }
}

function storageError(what: string, cause: unknown): TokenError {
  return new TokenError('storage_failed', `storage: ${what}`, { cause });
}
