/**
 * The stored record and its transitions: pure functions from record to record.
 *
 * The same transition is applied to the record in memory and, inside one atomic update, to the stored record, so both follow the
 * same rule, whatever another tab has written meanwhile. No I/O and no clock here.
 */

import { ownMembers } from '../../token/checks.ts';
import type { Held } from '../../token/phase.ts';
import type { TokenSet } from '../../token/token-set.ts';
import type { RetryState } from './retry.ts';

/** Everything that is stored: one value, so that a token and its key are never separated. Instants are local epoch ms. */
export interface SessionRecord extends Held {
  /** Version of the record format. */
  readonly v: 2;
  /**
   * Incremented whenever the user may have changed: by a supplied set, a logout, an opt-out, a withdrawal of consent. A response to
   * a request of an earlier generation is late and changes nothing.
   */
  readonly generation: number;
  /** The operator that issued the set. A record with another operator is read as absent. */
  readonly baseUrl: string;
  /** The service's clock minus this device's, ms; 0 if it is unknown or small. */
  readonly offsetMs: number;
  /** When the set arrived. */
  readonly receivedAt?: number | undefined;
  /** Fingerprints of the sets that the host supplied, newest first. */
  readonly fingerprints?: readonly string[] | undefined;
  /** When the user logged out or opted out; absent once a set is supplied. */
  readonly clearedAt?: number | undefined;
  /** The generation whose token was last handed to a cache outside the session; see {@link signalNoted}. */
  readonly signalGeneration?: number | undefined;
  /** The hashed label of the user; see `user.ts`. Absent if the host gave no label. */
  readonly user?: string | undefined;
  /** When a tab without the Web Lock began to call `provide`; see {@link provideClaimed}. */
  readonly provideAt?: number | undefined;
  /** Attempts to refresh; absent once one has returned a valid set, or the host has supplied another. */
  readonly retry?: RetryState | undefined;
}

/** A change of the record. Returns the same record if there is nothing to change. */
export type Transition = (record: SessionRecord) => SessionRecord;

/** A logout remembers the set that it ended for 30 days, so that a cached page cannot bring it back. */
const LOGOUT_MEMORY_MS = 30 * 86_400_000;

/** How many fingerprints are kept: enough for the sets that pages in a back/forward or HTTP cache may still supply. */
export const MAX_FINGERPRINTS = 32;

/** A smaller difference between clocks is ignored: `Date` has a resolution of one second, and responses take time to arrive. */
export const CLOCK_TOLERANCE_MS = 5_000;

/** The part of a refresh token that identifies it but is useless as a credential. */
const fingerprintOf = (set: TokenSet): string => set.refreshToken.slice(-24);

/** Tell whether the current set is `set`, or was refreshed from it. */
export function descendsFrom(record: SessionRecord, set: TokenSet): boolean {
  return record.set !== undefined && record.fingerprints?.[0] === fingerprintOf(set);
}

/** The record of a session without a set. */
export function emptyRecord(baseUrl: string): SessionRecord {
  return ownMembers({ v: 2, generation: 0, baseUrl, offsetMs: 0 });
}

/**
 * Erase everything that identifies the user. The tombstone of an opt-out and the clock offset stay; the generation is
 * incremented, so that pending responses are late. Every explicit action starts with this; a withdrawal of consent does nothing
 * else.
 */
export const erased: Transition = ({ generation, baseUrl, offsetMs, optedOut, signalGeneration }) => ({
  ...emptyRecord(baseUrl),
  generation: generation + 1,
  offsetMs,
  optedOut,
  // The cache may still contain the previous user's signal.
  signalGeneration,
});

/**
 * The host supplies a set at `now`. Behind a tombstone the set is held back: the phase stays `optedOut` until the service
 * accepts it. A set that the service has ended, supplied again for the same user, changes nothing.
 *
 * @param user  the user's hashed label; without it the record belongs to no known user.
 * @param keepsAttempts  count the attempts with the previous set, but not its rejections, for this one too. Behind a tombstone
 *   they always count, because a service that rejects every set would otherwise be called endlessly.
 */
export function setByHost(set: TokenSet, now: number, user?: string, keepsAttempts = false): Transition {
  return (record) => {
    // A host may answer each `needsTokens` from a cache; the same set would then be sent to the service endlessly.
    if (record.ended && record.user === user && isSameSet(record, { ...record, set })) return record;
    const fingerprint = fingerprintOf(set);
    const others = (record.fingerprints ?? []).filter((known) => known !== fingerprint);
    const fingerprints = [fingerprint, ...others].slice(0, MAX_FINGERPRINTS);
    const isCounted = keepsAttempts || record.optedOut;
    const retry = isCounted && record.retry ? { ...record.retry, refusals: 0 } : undefined;
    return { ...erased(record), set, receivedAt: now, fingerprints, user, retry };
  };
}

/**
 * A host that refreshes the set itself (`refresh: 'off'`) supplies one. It comes from the service, so it lifts the tombstone of
 * an opt-out.
 */
export function setByRefreshingHost(set: TokenSet, now: number, user?: string): Transition {
  return (record) => setByHost(set, now, user)({ ...record, optedOut: undefined });
}

/**
 * `provide` returns a set. It is late if the record has changed since `asked`, the record at the time of the call.
 *
 * @param user  the hashed label of the calling page. Default: the user for whom the record waits for a set.
 */
export function setByProvide(asked: SessionRecord, user = asked.user): (set: TokenSet, now: number) => Transition {
  return (set, now) => ifSameSet(asked, setByHost(set, now, user, true));
}

/**
 * The page was rendered with a set. A cached page may supply an old one: a set that is known, or that was ended by a logout in
 * the last 30 days, changes nothing.
 */
export function renderedWithPage(set: TokenSet, now: number, user?: string): Transition {
  return (record) => {
    const isKnown = record.fingerprints?.includes(fingerprintOf(set));
    const isCurrent = record.set || now - (record.clearedAt ?? 0) < LOGOUT_MEMORY_MS;
    return isKnown && isCurrent ? record : setByHost(set, now, user)(record);
  };
}

/** Log out at `now`. The fingerprints stay for {@link renderedWithPage}, unless they are to be forgotten too. */
export function loggedOut(now: number, forget = false): Transition {
  return (record) => {
    const fingerprints = forget ? undefined : record.fingerprints;
    return { ...erased(record), fingerprints, clearedAt: now };
  };
}

/** The user has opted out at `now`: erase tokens and fingerprints, keep a tombstone. */
export function optedOut(now: number): Transition {
  return (record) => ({ ...erased(record), optedOut: true, clearedAt: now });
}

/** Note that a cache outside the session receives the current user's token, or, if there is no user, no longer holds one. */
export const signalNoted: Transition = (record) => {
  const signalGeneration = record.set && !record.optedOut ? record.generation : undefined;
  return signalGeneration === record.signalGeneration ? record : { ...record, signalGeneration };
};

/**
 * A tab that has no Web Lock calls `provide` at `now`. The record is unchanged if another tab began to do so less than
 * `leaseMs` ago.
 */
export function provideClaimed(now: number, leaseMs: number): Transition {
  return (record) => {
    const { provideAt = Number.NEGATIVE_INFINITY } = record;
    return now >= provideAt && now < provideAt + leaseMs ? record : { ...record, provideAt: now };
  };
}

/** The call of `provide` that was claimed at `claimedAt` has ended; the lease of another tab stays. */
export function provideEnded(claimedAt: number): Transition {
  return (record) => (record.provideAt === claimedAt ? { ...record, provideAt: undefined } : record);
}

/** Apply `transition` only if the record still holds the set of `asked`: another user may have signed in meanwhile. */
export function ifSameSet(asked: SessionRecord, transition: Transition): Transition {
  return (record) => (isSameSet(record, asked) ? transition(record) : record);
}

/** Tell whether two records hold the same set, put there by the same action. A refresh may keep the tokens and extend the times. */
export function isSameSet(one: SessionRecord, other: SessionRecord): boolean {
  const { set, generation } = one;
  const isSameTokens =
    set?.refreshToken === other.set?.refreshToken && set?.advertisingToken === other.set?.advertisingToken;
  return generation === other.generation && isSameTokens && set?.expiresAt === other.set?.expiresAt;
}

/**
 * The service's time at `now`, as far as it is known. `Infinity` if this device's clock was set back while no page was open, after the
 * set arrived: the size of the step is unknown, so no token counts as valid.
 */
export function serviceTime({ receivedAt = 0, offsetMs }: SessionRecord, now: number): number {
  return now + CLOCK_TOLERANCE_MS < receivedAt ? Number.POSITIVE_INFINITY : now + offsetMs;
}

/** When {@link serviceTime} is known again, local epoch ms. */
export function clockTrustedAt({ receivedAt = 0 }: SessionRecord): number {
  return receivedAt - CLOCK_TOLERANCE_MS;
}

/**
 * This device's clock was set back by `backMs`: correct the offset, the time of receipt and the start of the last attempt, for all
 * tabs. A lease of `provide` from the future does not count, and `clearedAt` is absent while there is a set.
 *
 * @param seen  the record of the tab that noticed. If several tabs notice, only the first correction is applied.
 */
export function clockSetBack(seen: SessionRecord, backMs: number): Transition {
  return (record) => {
    const { retry, receivedAt = 0, offsetMs } = record;
    // Compare the offset too: in a record without a time of receipt, nothing else shows that it was corrected.
    if (receivedAt !== (seen.receivedAt ?? 0) || offsetMs !== seen.offsetMs) return record;
    return {
      ...record,
      offsetMs: offsetMs + backMs,
      receivedAt: Math.max(0, receivedAt - backMs),
      ...(retry && { retry: { ...retry, startedAt: retry.startedAt - backMs } }),
    };
  };
}
