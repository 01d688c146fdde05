/**
 * Runs the operations on one store one at a time, each with a time limit. A store that fails is replaced for the life of the
 * page.
 *
 * It knows nothing about what is read or written.
 */

import { isDevelopment } from '../token/development.ts';
import type { Store } from './browser/store.ts';
import { ignoreFailure } from './ignore-failure.ts';
import type { PageOwner } from './page-owner.ts';
import { withTimeout } from './timeout.ts';

/** Time limit for opening the store and the first read together, and for each later operation, ms. */
export const STORE_MS = 1_500;

/** Message of the development build. */
const UNCHANGED = 'store.update: expected a call of its argument, got none';

export type StoreQueue = ReturnType<typeof createStoreQueue>;

/**
 * Create the queue of a store.
 *
 * @param replace  called when the current store fails; returns its replacement. `hasSpareFailed`: the failed store was itself a
 *   replacement; return one that cannot fail.
 */
export function createStoreQueue(
  given: Store,
  owner: Pick<PageOwner, 'page'>,
  replace: (cause: unknown, hasSpareFailed: boolean) => Store,
) {
  let store = given;
  /** The store that failed, while another one replaces it. */
  let failed: Store | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const run = async (work: (place: Store) => Promise<unknown>, mayRepeat: boolean): Promise<unknown> => {
    const { absences } = owner.page;
    try {
      return await withTimeout(STORE_MS, work(store), 'the store');
    } catch (cause) {
      // The time limit may have passed while the page was frozen: try once more.
      if (mayRepeat && owner.page.absences > absences) return run(work, false);
      releaseStore(store);
      const hasSpareFailed = failed !== undefined;
      failed ??= store;
      store = replace(cause, hasSpareFailed);
      // Repeat the failed operation on the replacement, so that, for example, the answer to a refresh is kept in memory.
      return hasSpareFailed ? work(store) : run(work, false);
    }
  };

  return {
    /** The store in use. */
    get store() {
      return store;
    },
    /** The store that failed, if one has. */
    get failed() {
      return failed;
    },
    /** Resolve when all operations so far have ended. */
    idle: (): Promise<unknown> => last,
    /** Run `work` on the store when all earlier operations have ended; `onUsed` receives what `work` resolves with. */
    use<T>(work: (place: Store) => Promise<unknown>, onUsed: (value: unknown) => T): Promise<T> {
      const used = last.then(() => run(work, true)).then(onUsed);
      last = used.catch(() => {});
      return used;
    },
  };
}

/**
 * Change what a store holds. The host's own store may throw instead of rejecting, or end without calling `change`: nothing is
 * stored then.
 */
export async function updateIn(place: Store, change: (stored: unknown) => unknown): Promise<void> {
  let isCalled = false;
  await place.update((stored) => {
    isCalled = true;
    return change(stored);
  });
  if (!isCalled) throw new TypeError(isDevelopment ? UNCHANGED : undefined);
}

/** Release a store's connection; the next operation opens it again. */
export function releaseStore(store: Store): void {
  ignoreFailure(() => store.close?.());
}
