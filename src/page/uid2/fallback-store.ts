/**
 * A store that continues in memory, for the life of the page, once its database has failed. It never rejects, and knows nothing
 * about what is stored.
 */

import { memoryStore, type Store } from '../../session/index.ts';

/** How long the database may take for an operation, ms. Less than the session permits. */
const LIMIT_MS = 1_000;

/**
 * Create the store.
 *
 * @param known  returns the value with which memory starts: what was last read or written.
 */
export function createFallbackStore(database: Store, known: () => unknown): Store {
  /** The database, or the memory that replaces it. */
  let store = database;

  const use = async (work: (place: Store) => Promise<unknown>): Promise<unknown> => {
    const place = store;
    try {
      const limit = new Promise((_, reject) => setTimeout(reject, LIMIT_MS));
      const result = await Promise.race([work(place), limit]);
      // Another operation may have found out meanwhile that the database fails.
      if (place === store) return result;
    } catch {
      store = memoryStore(known());
    }
    return work(store);
  };

  return {
    ...database,
    get kind() {
      return store.kind!;
    },
    read: () => use((place) => place.read()),
    // A database that answers too late changes nothing.
    update: (change) => use((place) => place.update((stored) => (place === store ? change(stored) : stored))),
  };
}
