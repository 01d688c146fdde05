/** The drop-in's database. A record of another operator counts too: a site that changes its operator keeps its users signed in. */

import { indexedDbStore, memoryStore, type Store } from '../../session/index.ts';
import type { SessionRecord } from '../../session/rules/record.ts';

/** `name`: of the database. `baseUrl`: of the session, as `parseBaseUrl` returns it. */
export function createStore(name: string, baseUrl: string): Store {
  const database = 'indexedDB' in globalThis ? indexedDbStore(name) : memoryStore();
  // What another operator has answered says nothing about this one.
  const own = (stored: unknown) =>
    stored && (stored as SessionRecord).baseUrl !== baseUrl
      ? { ...stored, baseUrl, ended: undefined, retry: undefined }
      : stored;
  return {
    ...database,
    // The session of a drop-in reads by an update, too.
    update: (change) =>
      database.update((stored) => {
        const before = own(stored);
        const after = change(before);
        return after === before ? stored : after;
      }),
  };
}
