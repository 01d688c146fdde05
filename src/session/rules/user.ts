/**
 * The label of a user: which user a record belongs to. A page that is rendered for another user ends the current set.
 *
 * The host's label is hashed before it gets here. Pure, like `record.ts`.
 */

import type { TokenSet } from '../../token/token-set.ts';
import { descendsFrom, loggedOut, type SessionRecord, type Transition } from './record.ts';

/**
 * Hash a label: FNV-1a with 32 bits, 1 to 7 letters and digits.
 *
 * Synchronous, because a page that is rendered for another user must not return the previous user's token meanwhile; Web Crypto is
 * asynchronous, and absent on plain-http pages. Two users share a hash with a probability of 1 in 4 billion. As with any hash, anyone
 * who has a list of labels can find the one that matches.
 *
 * @param salt  operator and name of the session.
 * @example hashUser('account-1', 'https://operator.example tessera') // '1nqkk0i'
 */
export function hashUser(user: string, salt: string): string {
  let hash = 0x811c9dc5;
  for (const character of `${salt} ${user}`) {
    hash = Math.imul(hash ^ (character.codePointAt(0) as number), 0x01000193);
  }
  return (hash >>> 0).toString(36);
}

/**
 * The page was rendered for `user`, at `now`. A record of another user, or of no known one, is ended as by a logout, and waits
 * for the set of `user`.
 *
 * @param user  undefined: nobody is signed in. Only a record with a label is ended.
 * @param set   the set that was rendered into the page. A record without a label that descends from it belongs to `user`.
 */
export function renderedFor(user: string | undefined, now: number, set?: TokenSet): Transition {
  return (record) => {
    if (record.user === user) return record;
    const isOwn = record.user === undefined && set && descendsFrom(record, set);
    return isOwn ? { ...record, user } : signedIn(user, now)(record);
  };
}

/** Log out at `now`, because `user` has signed in; without a label, the record waits for no particular user's set. */
export function signedIn(user: string | undefined, now: number): Transition {
  return (record) => ({ ...loggedOut(now)(record), user });
}

/**
 * Tell whether a record belongs to a user other than `user`, the user of the page. Such a page, for example one that stayed open when
 * another user signed in, returns no token and requests none. A page without a label can use every record.
 */
export function isOfOtherUser(record: SessionRecord, user: string | undefined): boolean {
  return user !== undefined && record.user !== user && (record.set !== undefined || record.user !== undefined);
}
