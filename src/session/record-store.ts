/**
 * The stored record: reads and atomic updates, one at a time.
 *
 * If the store is late for an operation, memory stands in for it. When that operation has ended, one update applies what was changed
 * meanwhile, in order, to what is really stored, and from there on the store is used again. If the store fails, memory stays for the
 * life of the page.
 */

import { ignoreFailure, type TokenError } from '../token/errors.ts';
import { memoryStore, type Store } from './browser/store.ts';
import { explain } from './explain/entry.ts';
import { erased } from './rules/host-changes.ts';
import { applied, type Change, parseRecord, type SessionRecord } from './rules/record.ts';
import { withTimeout } from './timeout.ts';

/** A store that needs longer for an operation is late, ms; the same for opening it and the first read together. */
const STORE_MS = 1_500;

export function limited<T>(work: () => Promise<T>): Promise<T> {
  return withTimeout(STORE_MS, work, 'the store');
}

/** What an operation has found and left: the same object if nothing has changed. */
export interface Found {
  readonly before: SessionRecord;
  readonly after: SessionRecord;
}

export interface RecordStoreOwner {
  /** Returns what memory holds at first. */
  replacement(): SessionRecord | undefined;
  /** The store is used again, and `found` has what was changed meanwhile. */
  onAnswer(found: Found): void;
  onFailure(cause: unknown): void;
  /** What follows from places outside the store, which is stored too: those of the drop-in. */
  readonly adopt?: Change | undefined;
}

/** Apply changes in order. Not by `reduce`, which Prototype 1.6 replaces. */
export function appliedInOrder(record: SessionRecord, changes: readonly Change[], isLate = false): SessionRecord {
  let after = record;
  for (const change of changes) after = applied(after, change, isLate);
  return after;
}

async function readIn(place: Store, baseUrl: string): Promise<Found> {
  const record = parseRecord(await place.read(), baseUrl);
  return { before: record, after: record };
}

const unchanged: Change = (record) => record;

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
  if (!found) throw new TypeError(explain?.notCalled);
  return found;
}

/**
 * The next page may be able to use a store that this one cannot, for example after WebKit's network process has ended. Returns
 * whether it is confirmed that the store holds no set.
 */
async function eraseFailed(given: Store, baseUrl: string): Promise<boolean> {
  let isOver = false;
  // A late call must not erase what another tab has written since. The tombstone of an opt-out stays.
  const erase = (record: SessionRecord) => {
    if (isOver || !record.set) return record;
    return record.optedOut ? erased(record) : undefined;
  };
  const isErased = await limited(() => updateIn(given, baseUrl, erase))
    .then(() => true)
    // It may be impossible to write, and nothing there to erase.
    .catch(() => limited(() => given.read()).then((stored) => !parseRecord(stored, baseUrl).set))
    .catch(() => false);
  isOver = true;
  ignoreFailure(() => given.close?.());
  return isErased;
}

/** Changes the record at a place. */
type Update = (place: Store, change: Change) => Promise<Found>;

/** Run operations in order; each is repeated in memory if the store is late or fails. */
function createQueue(given: Store, update: Update, { replacement, onAnswer, onFailure }: RecordStoreOwner) {
  /** The store, or the memory in its place. */
  let place = given;
  let last: Promise<unknown> = Promise.resolve();
  /** Resolves when the store is used again, or with false if it has failed. */
  let late: Promise<boolean> | undefined;
  /** What memory has done in its place. */
  let missed: Change[] = [];

  const standIn = () => {
    place = memoryStore(replacement());
    missed = [];
  };
  const resume = async () => {
    const found = await update(given, (record) => {
      place = given;
      return appliedInOrder(record, missed, true);
    });
    onAnswer(found);
    return true;
  };
  const fail = (cause: unknown) => {
    if (place === given) standIn();
    ignoreFailure(() => given.close?.());
    onFailure(cause);
    return false;
  };
  const run = async (work: (place: Store) => Promise<Found>, change?: Change): Promise<Found> => {
    const begun = work(place);
    try {
      return await limited(() => begun);
    } catch (cause) {
      if ((cause as TokenError | undefined)?.code === 'timeout') explain?.storeLate();
      standIn();
      const repeated = work(place);
      const onEnd = ({ before, after }: Found) => {
        // The store has made this change itself.
        if (after !== before) missed = missed.filter((each) => each !== change);
      };
      late = begun.then(onEnd).then(resume).catch(fail);
      return repeated;
    }
  };
  const use = (...operation: Parameters<typeof run>): Promise<Found> => {
    const done = last.then(() => run(...operation));
    last = done;
    return done;
  };

  return {
    place: () => place,
    /** Memory stands in. */
    isReplaced: () => place !== given,
    /** Resolves when all operations so far have ended, in the store or in memory. */
    idle: () => last,
    late: () => late,
    use,
    /** Resolves after the write. Nothing changes unless `mayWrite()` at that moment. */
    update: (change: Change, mayWrite: () => boolean) => {
      const work = (to: Store) =>
        update(to, (record) => {
          // Memory stands in, and has the change.
          if (to !== place || !mayWrite()) return record;
          if (to !== given) missed.push(change);
          return applied(record, change);
        });
      return use(work, change);
    },
  };
}

export function createRecordStore(baseUrl: string, given: Store, owner: RecordStoreOwner) {
  const { adopt } = owner;
  const update: Update = (place, change) => updateIn<SessionRecord>(place, baseUrl, change, adopt);
  const { use, ...queue } = createQueue(given, update, owner);
  /** In progress after a call of the host, if the store has failed: false if it may still hold a set. */
  let erasing: Promise<boolean> | undefined;

  return {
    ...queue,
    /** `onStart`: the operation has its turn. */
    read: (onStart: () => void) =>
      use(async (from) => {
        onStart();
        return adopt ? update(from, unchanged) : readIn(from, baseUrl);
      }),

    /** After a call of the host. Resolves when a late store has answered; false: the next page may find the former user. */
    async isConfirmed(): Promise<boolean> {
      if ((await queue.late()) !== false) return true;
      erasing ??= eraseFailed(given, baseUrl).finally(() => void (erasing = undefined));
      return erasing;
    },

    /** Resolves when nothing is left to be written. */
    async settled(): Promise<void> {
      await queue.idle();
      await queue.late();
      await erasing;
    },
  };
}
