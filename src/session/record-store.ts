/**
 * The record in memory and in storage, and the one way to change it.
 *
 * A transition of the host is applied to memory at once if the stored record is known; every transition is applied to storage in
 * order, each inside one atomic update. This file knows nothing about the network or the meaning of a transition.
 */

import { ownMembers } from '../token/checks.ts';
import { isDevelopment } from '../token/development.ts';
import { TokenError } from '../token/errors.ts';
import { memoryStore, type Store } from './browser/store.ts';
import { logoutIn, repeatOnFailedStore } from './failed-store.ts';
import { followClockOnPage, type PageOwner, reportError, setPage } from './page-owner.ts';
import { type Cause, recordAdopted } from './rules/page-state.ts';
import { parseRecord } from './rules/parse-record.ts';
import { emptyRecord, erased, isSameSet, type SessionRecord, type Transition } from './rules/record.ts';
import { createStoreQueue, releaseStore, type StoreQueue, updateIn } from './store-queue.ts';

/** Messages of the development build. */
const FAILED = 'storage: the store failed; this page continues in memory';
const DAMAGED = 'storage: the stored record is damaged and is ignored';

/** How the record store carries out a change. */
export interface UpdateOptions {
  /** The cause that the `token` event names if the change brings another token; absent if it cannot. */
  readonly cause?: Cause | undefined;
  /**
   * A call of the host that supplies or erases. It changes memory at once on a loaded page, and is repeated on a store that has
   * failed.
   */
  readonly isHostCall: boolean;
  /** The change only erases. It needs no consent, and changes memory at once on every page. */
  readonly isErasure?: boolean | undefined;
}

/** The internal state of the record store. */
interface Inside {
  readonly empty: SessionRecord;
  readonly owner: PageOwner;
  readonly queue: StoreQueue;
  /** The record of this page, even while the page must not rely on it. */
  record: SessionRecord;
  /** Whether the last host call is also in the failed store; true if no store has failed. */
  hostCallsConfirmed: Promise<boolean>;
  /** The store may hold a set: nothing is known about it yet, or it held one when it was last read or written. */
  heldSet: boolean;
  isDamageReported: boolean;
  /** Cause of a stored change that memory will adopt after the next write. */
  storedCause?: Cause | undefined;
  /** A read that waits for its turn. One is enough for any number of messages. */
  waitingRead?: { readonly absences: number; readonly isChanged: boolean; readonly done: Promise<void> } | undefined;
}

export type RecordStore = ReturnType<typeof createRecordStore>;

/** Create the record store of one session. */
export function createRecordStore(baseUrl: string, store: Store, owner: PageOwner) {
  const empty = emptyRecord(baseUrl);
  const replace = (cause: unknown, hasSpareFailed: boolean): Store => {
    // Until a page that was away has read the record, its user may have logged out in another tab.
    if (!owner.page.isCurrent) inside.record = erased(inside.record);
    const spare = hasSpareFailed ? memoryStore(inside.record) : spareOf(store, inside.record);
    setPage(owner, { persistence: spare.kind ?? 'custom' });
    reportError(owner, storageError(isDevelopment ? FAILED : undefined, cause));
    return spare;
  };
  const queue = createStoreQueue(store, owner, replace);
  const inside: Inside = {
    empty,
    owner,
    queue,
    record: empty,
    hostCallsConfirmed: Promise.resolve(true),
    heldSet: true,
    isDamageReported: false,
  };

  return {
    /** The record of this page, valid only while `isCurrent` of the page state is true. */
    get record() {
      return inside.record;
    },
    /** Resolve when all operations on the store so far have ended. */
    idle: queue.idle,
    /** Resolve when every host call so far has also reached the failed store; false if the last one is not confirmed there. */
    hostCallsConfirmed: (): Promise<boolean> => inside.hostCallsConfirmed,
    update: (transition: Transition, options: UpdateOptions): Promise<boolean> => update(inside, transition, options),
    reload: (isChanged = false): Promise<void> => reload(inside, isChanged),
    /** Release the connection until the store is used again. */
    disconnect: (): void => releaseStore(queue.store),
  };
}

/** The store that replaces a failed one: the host's `spare`, or memory, which cannot fail. */
function spareOf(store: Store, value: SessionRecord): Store {
  try {
    return store.spare?.(value) ?? memoryStore(value);
  } catch {
    return memoryStore(value);
  }
}

function mayWrite({ owner }: Inside, isErasure = false): boolean {
  return isErasure || owner.page.consent !== 'refused';
}

function adopt(inside: Inside, next: SessionRecord, cause: Cause): void {
  const before = inside.record;
  inside.record = ownMembers(next);
  inside.storedCause = undefined;
  const { owner } = inside;
  owner.page = recordAdopted(owner.page, before, next, cause);
  // Another tab may have corrected the record for a step back of the clock: follow it here.
  const isFromOutside = cause === 'tab' || cause === 'load';
  if (isFromOutside && next.receivedAt !== before.receivedAt) followClockOnPage(owner);
}

/** Parse what a store returned. A damaged record is read as absent and reported once. */
function parse(inside: Inside, stored: unknown): SessionRecord | undefined {
  const { owner, empty } = inside;
  try {
    return parseRecord(stored, empty.baseUrl);
  } catch (cause) {
    if (!inside.isDamageReported) reportError(owner, storageError(isDevelopment ? DAMAGED : undefined, cause));
    inside.isDamageReported = true;
    return undefined;
  }
}

/**
 * Change the record: in memory at once for an erasure, and for a host call on a loaded page; then in the store.
 *
 * @returns whether the transition changed what was stored.
 */
function update(inside: Inside, transition: Transition, options: UpdateOptions): Promise<boolean> {
  const { owner, queue } = inside;
  const { cause, isHostCall, isErasure } = options;
  const { isCurrent, isAway, absences, writes } = owner.page;
  const isApplied = isHostCall && isCurrent;
  // An erasure changes memory even before the record is known, because the store may fail and memory replace it.
  if (cause && (isApplied || isErasure)) adopt(inside, transition(inside.record), cause);
  setPage(owner, { writes: writes + 1 });
  let before: SessionRecord | undefined;
  let after: SessionRecord | undefined;
  const write = (place: Store) =>
    updateIn(place, (stored) => {
      // Ignore a late call from a store that has been replaced.
      if (place !== queue.store || !mayWrite(inside, isErasure)) return stored;
      // If the store is empty, was emptied or is damaged, it takes over what this page holds.
      before = parse(inside, stored) ?? (isApplied ? undefined : inside.record);
      after = before ? transition(before) : inside.record;
      return after === before ? stored : after;
    });
  return queue.use(write, () => {
    const { page } = owner;
    setPage(owner, { writes: page.writes - 1 });
    const isChanged = after !== before;
    if (after && !queue.failed) inside.heldSet = !!after.set;
    if (isChanged && cause) inside.storedCause = cause;
    // Only after the last write, because memory may already hold its result. A page that was away meanwhile must read the store
    // again.
    if (after && page.writes === 1 && page.isKnown && !isAway && page.absences === absences) {
      // If the transition changed nothing, another tab wrote the record, so the cause is `tab`.
      adopt(inside, after, inside.storedCause ?? 'tab');
      setPage(owner, { isCurrent: true });
    }
    const place = queue.failed;
    if (place && isHostCall) {
      const repeat = () =>
        repeatOnFailedStore(place, transition, {
          empty: inside.empty,
          heldSet: inside.heldSet,
          parse: (found) => parse(inside, found),
          mayWrite: () => mayWrite(inside, isErasure),
          mayRead: () => owner.page.consent === 'granted',
        });
      inside.hostCallsConfirmed = inside.hostCallsConfirmed.then(repeat);
    }
    return isChanged;
  });
}

/**
 * Read the store, for the first time or again.
 *
 * @param isChanged  another tab has announced a change of the record.
 */
function reload(inside: Inside, isChanged: boolean): Promise<void> {
  const { owner, queue, empty } = inside;
  const { absences, isKnown, isCurrent } = owner.page;
  const waiting = inside.waitingRead;
  if (waiting && waiting.absences === absences && (waiting.isChanged || !isChanged)) return waiting.done;
  // A page that was away received no messages.
  const mayHaveChanged = isChanged || (isKnown && !isCurrent);
  const read = async (place: Store) => {
    inside.waitingRead = undefined;
    const failed = queue.failed;
    const logout =
      failed && mayHaveChanged
        ? await logoutIn(failed, (found) => parse(inside, found), inside.record.receivedAt)
        : undefined;
    // The tombstone of an opt-out on this page may not have reached that store.
    const optedOut = logout?.optedOut || inside.record.optedOut;
    return logout ? place.update(() => ({ ...logout, optedOut })) : place.read();
  };
  const done = queue.use(read, (stored) => {
    if (owner.page.absences > absences) return;
    const next = parse(inside, stored);
    if (!queue.failed) inside.heldSet = !!next?.set;
    // Adopt the first read even if a write follows, because writes are compared with what was stored.
    if (next && !owner.page.isKnown) adopt(inside, next, 'load');
    setPage(owner, { isKnown: true });
    // The last write in progress also reads the store.
    if (owner.page.writes > 0) return;
    setPage(owner, { isCurrent: true });
    if (next) adopt(inside, next, 'tab');
    // An empty store is not a logout for a page that was active all the time. It is one if the page was away, or if another tab
    // announced a change: a logout on a full disk leaves only an empty store behind.
    else if (mayHaveChanged && !isSameSet(inside.record, empty)) adopt(inside, { ...empty, clearedAt: 0 }, 'tab');
  });
  inside.waitingRead = { absences, isChanged, done };
  return done;
}

function storageError(message: string | undefined, cause: unknown): TokenError {
  return new TokenError('storage_failed', message, { cause });
}
