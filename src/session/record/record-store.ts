/**
 * The stored record: reads and atomic updates, one at a time.
 *
 * If the store is late for an operation, memory stands in for it. When that operation has ended, one update applies what was changed
 * meanwhile, in order, to what is really stored; once that is stored, the store is used again. If the store fails, memory stays for the
 * life of the page.
 */

import { ignoreFailure, type TokenError } from '../../token/errors.ts';
import type { Store } from '../browser/store.ts';
import { explain } from '../explain/entry.ts';
import { erased } from '../rules/host-changes.ts';
import { applied, type Change, emptyRecord, parseRecord, type SessionRecord } from '../rules/record.ts';
import { isFuture } from '../rules/retry.ts';
import { withTimeout } from '../timeout.ts';

/** A store that needs longer for an operation is late, ms; the same for opening it and the first read together. */
const STORE_MS = 1_500;

export function withinStoreTime<T>(work: () => Promise<T>): Promise<T> {
  return withTimeout(STORE_MS, work, 'the store');
}

/** What an operation has found and left: the same object if nothing has changed. */
export interface Found {
  readonly before: SessionRecord;
  readonly after: SessionRecord;
}

export interface RecordStoreOwner {
  /** What memory holds when it takes the place of the store, and again once the page has been away. */
  initial(): SessionRecord;
  /** The store is used again, and `found` has what was changed meanwhile. */
  onResumed(found: Found): void;
  onFailure(cause: unknown): void;
  now(): number;
  /** The change that follows from what the drop-in keeps outside the store. It is made before every other, and stored. */
  readonly adopt?: Change | undefined;
}

/** Apply changes in order. Not by `reduce`, which Prototype 1.6 replaces. */
export function appliedInOrder(
  record: SessionRecord,
  changes: readonly Change[],
  found?: SessionRecord,
): SessionRecord {
  let after = record;
  for (const change of changes) after = applied(after, change, found);
  return after;
}

const unchanged: Change = (record) => record;

async function readIn(place: Store, baseUrl: string): Promise<Found> {
  const record = parseRecord(await place.read(), baseUrl);
  return { before: record, after: record };
}

/** Erases the record if the result is undefined. A store that ends without calling `change` has failed. */
async function updateIn<T extends SessionRecord | undefined>(
  place: Store,
  baseUrl: string,
  change: (record: SessionRecord) => SessionRecord | T,
  adopt = unchanged,
) {
  let found: { readonly before: SessionRecord; readonly after: SessionRecord | T } | undefined;
  await place.update((stored) => {
    const record = parseRecord(stored, baseUrl);
    const before = applied(record, adopt);
    const after = change(before);
    found = { before, after };
    return after === record ? stored : after;
  });
  if (!found) throw new TypeError(explain?.updateFault);
  return found;
}

/** The next page may be able to use a store that this one cannot. Returns whether it is confirmed that the store holds no set. */
async function eraseFailed(given: Store, baseUrl: string): Promise<boolean> {
  let isOver = false;
  // A late call must not erase what another tab has written since. The tombstone of an opt-out stays.
  const erase = (record: SessionRecord) => {
    if (isOver || !record.set) return record;
    return record.optedOut ? erased(record) : undefined;
  };
  const isErased = await withinStoreTime(async () => {
    // It may be impossible to write, and nothing there to erase.
    const { after } = await updateIn(given, baseUrl, erase).catch(() => readIn(given, baseUrl));
    return !after?.set;
  }).catch(() => false);
  isOver = true;
  return isErased;
}

/** Run changes in order: in the store or, while that is late or if it has failed, in memory. */
function createQueue(
  baseUrl: string,
  given: Store | undefined,
  { initial, onResumed, onFailure, now, adopt = unchanged }: RecordStoreOwner,
) {
  /** The record while it is not in the store; from the start if there is no store, so `given` is defined whenever this is not. */
  let memory = given ? undefined : emptyRecord(baseUrl);
  /** The changes in memory that the store does not have yet, in order; undefined unless the store is late. */
  let missed: Change[] | undefined;
  let last: Promise<unknown> = Promise.resolve();
  /** Resolves when the store is used again, or with false if it has failed. */
  let late: Promise<false | void> | undefined;

  const update = (change: Change) => updateIn<SessionRecord>(given!, baseUrl, change, adopt);
  const resume = async (): Promise<void> => {
    // Calls of one task stay together.
    await last;
    const batch = missed!;
    missed = [];
    // A change from the future shows that the clock was set back since: it is not later than what is missed.
    const found = await update((record) =>
      appliedInOrder(record, batch, isFuture(record.changedAt, now()) ? { ...record, changedAt: 0 } : record),
    );
    if (missed.length) return resume();
    memory = missed = undefined;
    onResumed(found);
  };
  const fail = (cause: unknown): false => {
    missed = undefined;
    onFailure(cause);
    return false;
  };
  // If memory has taken the place of the store meanwhile, it has the change.
  const inStore = (change: Change): Promise<Found> =>
    change === adopt ? readIn(given!, baseUrl) : update((record) => (memory ? record : applied(record, change)));
  const run = async (change: Change): Promise<Found> => {
    if (!memory) {
      const begun = inStore(change);
      try {
        return await withinStoreTime(() => begun);
      } catch (cause) {
        if ((cause as TokenError | undefined)?.code === 'timeout') explain?.warnOfLateStore();
        memory = initial();
        missed = [];
        late = begun.then(resume).catch(fail);
      }
    }
    const before = applied(memory!, adopt);
    memory = applied(before, change);
    // Also a read: the update in progress may have found what was stored before. If only its commit is late, it is applied twice.
    missed?.push(change);
    return { before, after: memory };
  };

  return {
    memory: () => memory,
    isLate: () => !!missed,
    loseTrack: () => {
      if (missed) memory = initial();
    },
    /** Resolves when all operations so far have ended, in the store or in memory. */
    idle: () => last,
    late: () => late,
    use: (change: Change): Promise<Found> => (last = last.then<Found>(() => run(change))),
  };
}

/** `given`: undefined if this browser has no store, so that memory is the store. */
export function createRecordStore(baseUrl: string, given: Store | undefined, owner: RecordStoreOwner) {
  const { use, memory, late, ...queue } = createQueue(baseUrl, given, owner);
  /** The last one, after a call of the host, if the store has failed: false if it may still hold a set. */
  let erasing: Promise<boolean> | undefined;

  return {
    ...queue,
    /** Of the store, or of the memory in its place. */
    kind: () => (memory() ? 'memory' : (given!.kind ?? 'custom')),
    close: () => ignoreFailure(() => given?.close?.()),
    read: () => use(unchanged),
    /** Resolves after the write. Nothing changes unless `mayWrite()` at that moment. */
    update: (change: Change, mayWrite: () => boolean) =>
      use((record, found) => (mayWrite() ? change(record, found) : record)),

    /** After a call of the host. Resolves when a late store has answered; false: the next page may find the former user. */
    async isConfirmed(): Promise<boolean> {
      if ((await late()) !== false) return true;
      erasing = eraseFailed(given!, baseUrl);
      return erasing;
    },

    /** Resolves when nothing is left to be written. */
    async settled(): Promise<void> {
      await queue.idle();
      await late();
      await erasing;
    },
  };
}
