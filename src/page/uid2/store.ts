/**
 * The store of the drop-in's session: its database together with the places to which pages and servers write. Whoever reads it finds
 * the record or, if a copy or a mark in the places is newer, the record that follows from that.
 */

import { indexedDbStore, memoryStore, type Store } from '../../session/index.ts';
import { parseRecord, type SessionRecord } from '../../session/rules/record.ts';
import { type Candidate, withNewest } from './precedence.ts';

/**
 * Create the store. A record of another operator is valid too, so a site that changes its operator keeps its users signed in; what
 * that one has answered says nothing about this one.
 *
 * @param name     of the IndexedDB database.
 * @param baseUrl  of the session, as `parseBaseUrl` returns it.
 * @param newest   returns the newest copy or mark in the places.
 */
export function createStore(name: string, baseUrl: string, newest: () => Candidate | undefined): Store {
  const database = 'indexedDB' in globalThis ? indexedDbStore(name) : memoryStore();
  const followed = (stored: unknown) => {
    const isForeign = stored && (stored as SessionRecord).baseUrl !== baseUrl;
    const own = isForeign ? { ...stored, baseUrl, ended: undefined, retry: undefined } : stored;
    const record = parseRecord(own, baseUrl);
    const after = withNewest(record, newest());
    // What has not changed is not written.
    return after === record ? own : after;
  };
  return {
    ...database,
    read: async () => followed(await database.read()),
    update: (change) => database.update((stored) => change(followed(stored))),
  };
}
