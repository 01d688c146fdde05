/** The changes of the record that the host makes: it supplies a set, logs the user out, names the user. */

import type { TokenSet } from '../../token/token-set.ts';
import { type Change, emptyRecord, isSameTokens } from './record.ts';

/**
 * Erase everything that identifies the user. The tombstone of an opt-out and the clock offset stay; the generation is incremented, so
 * that answers to pending requests are late. Every other change of the host starts with this; a withdrawal of consent does nothing else.
 */
export const erased: Change = ({ generation, baseUrl, offsetMs, optedOut }) => ({
  ...emptyRecord(baseUrl),
  generation: generation + 1,
  offsetMs,
  optedOut,
});

/** The last change counts: if a late store shows that another tab has changed the user after `now`, nothing is changed. */
function unlessChangedSince(now: number, change: Change): Change {
  return (record, found) => (found && found.changedAt > now ? record : change(record));
}

/** Unless `forget`, sets that were rendered into earlier pages stay known. */
export function loggedOut(now: number, forget?: boolean): Change {
  return unlessChangedSince(now, (record) => ({
    ...erased(record),
    changedAt: Math.max(now, record.changedAt + 1),
    acceptedUntil: forget ? 0 : record.acceptedUntil,
  }));
}

/** As a logout, but in any case, and a tombstone stays. */
export function optedOut(now: number): Change {
  return (record) => ({ ...loggedOut(now)(record), optedOut: true });
}

/** As a logout. With a label, the record waits for the set of that user. */
export function signedIn(user: string | undefined, now: number): Change {
  return unlessChangedSince(now, (record) => {
    const { set, lease, retry } = record;
    // While `provide` is asked, its pauses stay: it may call `signIn` each time, and would be asked endlessly.
    return { ...loggedOut(now)(record), user, retry: lease && !set ? retry : undefined };
  });
}

/**
 * Behind a tombstone the set is held back: the phase stays `optedOut` until the service accepts it.
 *
 * @param user  the hashed label; without it the record belongs to no known user.
 * @param isFromService  the host itself has refreshed the set (`refresh: 'off'`), so it lifts the tombstone.
 */
export function setByHost(set: TokenSet, now: number, user?: string, isFromService?: boolean): Change {
  return unlessChangedSince(now, (record) => {
    // The service has ended this set. A host may answer each `needsTokens` with it, from a cache.
    if (record.ended && record.user === user && isSameTokens(record.set, set)) return record;
    return {
      ...loggedOut(now)(record),
      set,
      user,
      optedOut: isFromService ? undefined : record.optedOut,
      receivedAt: now,
      acceptedUntil: Math.max(record.acceptedUntil, set.expiresAt),
      // Otherwise a service that refuses every user of this browser would be called endlessly.
      retry: record.optedOut && !isFromService ? record.retry && { ...record.retry, refusals: 0 } : undefined,
    };
  });
}

/**
 * A cached page may supply an old set, so it counts only if it expires later than every set before, or if it is the current one,
 * which has no label yet.
 */
export function renderedWith(set: TokenSet, now: number, user?: string): Change {
  return (record, found) => {
    const isLater = set.expiresAt > record.acceptedUntil;
    const isUnlabelled = user && !record.user && isSameTokens(record.set, set);
    return isLater || isUnlabelled ? setByHost(set, now, user)(record, found) : record;
  };
}

/**
 * The page was rendered for `user`, or `user` has signed in on it: a record of another user, or of no known one, is ended as by a
 * logout. If `user` is undefined, nobody is signed in; only a record with a label is ended then.
 */
export function othersEnded(user: string | undefined, now: number): Change {
  return (record, found) => (record.user === user ? record : signedIn(user, now)(record, found));
}
