/**
 * The uses of one store, one after the other, each bounded in time. A store that fails is replaced for the life of the page.
 *
 * It knows nothing of what is read or written.
 */

import { isDevelopment } from '../token/development.ts';
import type { Store } from './browser/store.ts';
import { ignoreFailure } from './ignore-failure.ts';
import type { PageOwner } from './page-owner.ts';
import { withTimeout } from './timeout.ts';

/** Limit for opening the store and the first read together, and for each later use of it, ms. */
export const STORE_MS = 1_500;

/** Message of the development build. */
const UNCHANGED = 'store.update: expected a call of its argument, got none';

export type StoreQueue = ReturnType<typeof createStoreQueue>;

/**
 * Create the queue of a store.
 *
 * @param replace  the store in use failed: returns the one that replaces it. `hasSpareFailed`: the store that failed was itself a
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
      // The use that failed is repeated there: the answer to a refresh, for example, is kept in memory.
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
    /** Resolve when every use so far has ended. */
    idle: (): Promise<unknown> => last,
    /** Use the store when everything before has ended; `onUsed` receives what `work` resolves with. */
    use<T>(work: (place: Store) => Promise<unknown>, onUsed: (value: unknown) => T): Promise<T> {
      const used = last.then(() => run(work, true)).then(onUsed);
      last = used.catch(() => {});
      return used;
    },
  };
}

/**
 * Change what a store holds. A store of the host may throw where it should reject, or end without a call of `change`: nothing is
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

/** Release the connection of a store; it is opened again by the next use. */
export function releaseStore(store: Store): void {
  ignoreFailure(() => store.close?.());
}
