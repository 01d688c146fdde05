/**
 * A failed store that memory has replaced. Host calls are still written to it if possible, and another tab's logout is read from
 * it.
 */

import type { Store } from './browser/store.ts';
import type { SessionRecord, Transition } from './rules/record.ts';
import { releaseStore, STORE_MS, updateIn } from './store-queue.ts';
import { withTimeout } from './timeout.ts';

/** Time limit for reading the store during an operation on its replacement, ms. */
const READ_MS = 1_000;

/** What the record store knows about its failed store, and what it permits. */
export interface FailedStoreAccess {
  readonly empty: SessionRecord;
  /** The store may hold a set: it held one when it was last read or written, or nothing is known about it. */
  readonly heldSet: boolean;
  parse(stored: unknown): SessionRecord | undefined;
  mayWrite(): boolean;
  /** Whether there is consent. Reading needs it, erasing does not. */
  mayRead(): boolean;
}

/**
 * Apply a host call to the failed store, so that the next page does not find a user who has logged out. If nothing can be written
 * there, erase its record. After the time limit, do nothing, because another user's record may be stored by then.
 *
 * @returns false if the store may still hold another user's set.
 */
export async function repeatOnFailedStore(
  place: Store,
  transition: Transition,
  { empty, heldSet, parse, mayWrite, mayRead }: FailedStoreAccess,
): Promise<boolean> {
  let isLate = false;
  let before: SessionRecord | undefined;
  const write = async (change: (before: SessionRecord, stored: unknown) => unknown) => {
    // A write that fails late would open the store again, and leave the connection open.
    if (isLate) return;
    await updateIn(place, (stored) => {
      if (isLate || !mayWrite()) return stored;
      before ??= parse(stored) ?? empty;
      return change(before, stored);
    });
  };
  const apply = () => write(transition);
  // Keep a tombstone: a set that is held back behind it does not belong to any user yet. Also keep a set that the call does not
  // replace, because the call only corrects the record for the clock.
  const isKept = (found: SessionRecord) =>
    found.optedOut || !found.set || transition(found).generation === found.generation;
  const erase = () => write((found, stored) => (isKept(found) ? stored : undefined));
  const holdsSet = async () => {
    if (!mayRead()) return heldSet;
    const found = parse(await place.read());
    return !!found?.set && !found.optedOut;
  };
  const work = apply()
    .catch(() => erase().then(apply))
    .then(
      () => true,
      // A store that can be neither written nor read gives the next page no set either.
      async () => !(await holdsSet().catch(() => false)),
    );
  const isConfirmed = await withTimeout(STORE_MS, work, 'the store').catch(() => !heldSet);
  isLate = true;
  releaseStore(place);
  return isConfirmed;
}

/**
 * Read the failed store.
 *
 * @param receivedAt  when the set of this page arrived, local epoch ms.
 * @returns the stored record, if another tab has logged out since.
 */
export async function logoutIn(
  place: Store,
  parse: FailedStoreAccess['parse'],
  receivedAt = 0,
): Promise<SessionRecord | undefined> {
  // An async function, because a store of the host may throw instead of rejecting.
  const reading = (async () => place.read())();
  const theirs = parse(await withTimeout(READ_MS, reading, 'the store').catch(() => undefined));
  return theirs?.clearedAt !== undefined && theirs.clearedAt >= receivedAt ? theirs : undefined;
}
