/**
 * The stored record: reads and atomic updates. What is changed while memory stands in for a late store is kept, and applied in order
 * to what is really stored when the store answers.
 */

import { ignoreFailure } from '../token/errors.ts';
import type { Store } from './browser/store.ts';
import { explain } from './explain/entry.ts';
import { erased } from './rules/host-changes.ts';
import { applied, type Change, parseRecord, type SessionRecord } from './rules/record.ts';
import { createAccess, limited } from './store-access.ts';

/** What an operation has found. */
export interface Found {
  /** It comes from the store, not from memory. */
  readonly isStored: boolean;
  /** How often the page had lost track of the store when the operation began. */
  readonly absences: number;
  /** The same object if nothing has changed. */
  readonly before: SessionRecord;
  readonly after: SessionRecord;
}

export interface RecordStoreOwner {
  /** Returns what memory holds at first. */
  replacement(): SessionRecord | undefined;
  /** The late store has answered, and its record has the changes of memory: `found` shows it. */
  onAnswer(found: Found): void;
  onFailure(cause: unknown): void;
}

/** Apply changes in order. Not by `reduce`, which Prototype 1.6 replaces. */
export function appliedInOrder(record: SessionRecord, changes: readonly Change[], isLate = false): SessionRecord {
  let after = record;
  for (const change of changes) after = applied(after, change, isLate);
  return after;
}

async function readIn(place: Store, baseUrl: string) {
  const record = parseRecord(await place.read(), baseUrl);
  return { before: record, after: record };
}

/** Erases the record if the result is undefined. A store that ends without calling `change` has failed. */
async function updateIn<T extends SessionRecord | undefined>(
  place: Store,
  baseUrl: string,
  change: (record: SessionRecord) => SessionRecord | T,
) {
  let found: { readonly before: SessionRecord; readonly after: SessionRecord | T } | undefined;
  await place.update((stored) => {
    const before = parseRecord(stored, baseUrl);
    const after = change(before);
    found = { before, after };
    return after === before ? stored : after;
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

export function createRecordStore(baseUrl: string, given: Store, owner: RecordStoreOwner) {
  /** What memory has done instead of a late store. */
  let missed: Change[] = [];
  /** In progress after a call of the host, if the store has failed: false if it may still hold a set. */
  let erasing: Promise<boolean> | undefined;
  const access = createAccess(given, {
    replacement: () => {
      missed = [];
      return owner.replacement();
    },
    onFailure: owner.onFailure,
    onLate: async () => {
      const changes = missed;
      const found = await update(given, (record) => {
        if (access.hasFailed) return record;
        // From here on, changes go to the store again.
        access.place = given;
        return appliedInOrder(record, changes, true);
      });
      if (!access.hasFailed) owner.onAnswer(found);
    },
  });
  const found = async <T>(place: Store, work: Promise<T>) => {
    const { absences } = access;
    return { isStored: place === given, absences, ...(await work) };
  };
  const update = (place: Store, change: Change): Promise<Found> => found(place, updateIn(place, baseUrl, change));

  return {
    access,

    /** `onStart` is called when the operation has its turn. */
    read: (onStart: () => void): Promise<Found> =>
      access.use((place) => {
        onStart();
        return found(place, readIn(place, baseUrl));
      }),

    /** Resolves after the write. Nothing changes unless `mayWrite()` at that moment. */
    update(change: Change, mayWrite: () => boolean): Promise<Found> {
      let isCalled = false;
      return access.use((place) =>
        update(place, (record) => {
          // A store that is late only after it has called the change writes it; otherwise memory has it.
          if ((place !== access.place && !isCalled) || !mayWrite()) return record;
          if (place === given) isCalled = true;
          else if (!isCalled) missed.push(change);
          return applied(record, change);
        }),
      );
    },

    /** After a call of the host. Resolves when a late store has answered; false: the next page may find the former user. */
    async isConfirmed(): Promise<boolean> {
      await access.late;
      if (!access.hasFailed) return true;
      erasing ??= eraseFailed(given, baseUrl).finally(() => void (erasing = undefined));
      return erasing;
    },

    /** Resolves when nothing is left to be written. */
    async settled(): Promise<void> {
      await access.idle();
      await access.late;
      await erasing;
    },
  };
}
