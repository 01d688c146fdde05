/**
 * Operations on a store, one at a time. While the store is late, memory stands in for it; if it fails, memory replaces it for the
 * life of the page.
 */

import { ignoreFailure, type TokenError } from '../token/errors.ts';
import { memoryStore, type Store } from './browser/store.ts';
import { explain } from './explain/entry.ts';
import { withTimeout } from './timeout.ts';

/** A store that needs longer for an operation is late, ms; the same for opening it and the first read together. */
const STORE_MS = 1_500;

export function limited<T>(work: () => Promise<T>): Promise<T> {
  return withTimeout(STORE_MS, work, 'the store');
}

export interface AccessOwner {
  /** Returns what memory holds at first. */
  replacement(): unknown;
  /** Queue an update of the late store, in which `place` is set to the store again. Rejects if the store fails. */
  onLate(): Promise<void>;
  onFailure(cause: unknown): void;
}

export type Access = ReturnType<typeof createAccess>;

export function createAccess(given: Store, { replacement, onLate, onFailure }: AccessOwner) {
  let last: Promise<unknown> = Promise.resolve();
  const access = {
    /** The store, or the memory in its place. */
    place: given,
    hasFailed: false,
    /** How often the page has lost track of the store. */
    absences: 0,
    /** Resolves when a late store has answered or failed. */
    late: undefined as Promise<void> | undefined,
    /** Resolves when all operations so far have ended, in the store or in memory. */
    idle: () => last,
    /** Run an operation after all others. If the store is late or fails, repeat it on memory. */
    use<T>(work: (place: Store) => Promise<T>): Promise<T> {
      const done = last.then(() => run(work));
      last = done;
      return done;
    },
  };
  const fail = (cause: unknown) => {
    if (access.hasFailed) return;
    access.hasFailed = true;
    if (access.place === given) access.place = memoryStore(replacement());
    ignoreFailure(() => given.close?.());
    onFailure(cause);
  };
  const run = async <T>(work: (place: Store) => Promise<T>): Promise<T> => {
    let begun: Promise<T>;
    try {
      return await limited(() => (begun = work(access.place)));
    } catch (cause) {
      const isLate = (cause as TokenError | undefined)?.code === 'timeout';
      if (isLate) access.place = memoryStore(replacement());
      else fail(cause);
      const repeated = work(access.place);
      if (isLate) {
        explain?.storeLate();
        access.late = onLate().catch(fail);
        begun!.catch(fail);
      }
      return repeated;
    }
  };
  return access;
}
