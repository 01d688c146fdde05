/**
 * The label of a user: which user a record belongs to. A page that is rendered for another user ends the set in force.
 *
 * The host's label is hashed before it gets here. Pure, like `record.ts`.
 */

import { loggedOut, type SessionRecord, type Transition } from './record.ts';

/**
 * Hash a label: FNV-1a with 32 bits, 1 to 7 letters and digits.
 *
 * Synchronous, because a page that is rendered for another user must not give out the former token meanwhile; Web Crypto is
 * asynchronous, and absent on plain-http pages. Two users share a hash with a chance of 1 in 4 billion. One hash has many
 * labels; but whoever has a list of labels can look for the one that fits, as with every hash.
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
 */
export function renderedFor(user: string, now: number): Transition {
  return (record) => (record.user === user ? record : { ...loggedOut(now)(record), user });
}

/** Log out at `now`, because `user` has signed in; without a label nobody is known to wait for a set. */
export function signedIn(user: string | undefined, now: number): Transition {
  return (record) => ({ ...loggedOut(now)(record), ...(user && { user }) });
}

/**
 * The user for whom a record waits for a set. A set that replaces one in force may belong to anybody.
 *
 * @returns undefined if it does not wait, or if the user is not known.
 */
export function awaitedUser({ set, ended, user }: SessionRecord): string | undefined {
  return set && !ended ? undefined : user;
}
