/** The stored record and its parser. */

import { ownMembers } from '../../token/checks.ts';
import { ignoreFailure } from '../../token/errors.ts';
import type { Held } from '../../token/phase.ts';
import { readTokenSet, type TokenSet } from '../../token/token-set.ts';

/** Everything that is stored: one value, so that a token and its key are never separated. Instants are local epoch ms. */
export interface SessionRecord extends Held {
  readonly v: 2;
  /**
   * Incremented whenever the user may have changed: by a supplied set, a logout, an opt-out, a withdrawal of consent. The answer to a
   * request of an earlier generation is late and changes nothing.
   */
  readonly generation: number;
  /** The operator that issued the set. A record with another operator is read as absent. */
  readonly baseUrl: string;
  /** The service's clock minus this device's, ms; 0 if it is unknown or small. */
  readonly offsetMs: number;
  /** When the set arrived; 0: never. */
  readonly receivedAt: number;
  /** The latest `expiresAt` of all sets so far, also of those that a logout has ended; see {@link renderedWith}. Service time. */
  readonly acceptedUntil: number;
  /** When the host, or an opt-out at the service, last changed the user or the set; 0: never, or not since consent was withdrawn. */
  readonly changedAt: number;
  /** The hashed label of the user; absent if the host gave none. */
  readonly user?: string | undefined;
  /** The tab that is refreshing, or calling `provide`. */
  readonly lease?: Lease | undefined;
  /** The attempts of all tabs that have brought no valid set. */
  readonly retry?: RetryState | undefined;
}

/** One tab's right to make an attempt, for a limited time. */
export interface Lease {
  /** Random, because two tabs may take the lease in the same millisecond, one after the other. */
  readonly id: number;
  readonly at: number;
  /** Its tab holds the Web Lock of this lease. If that is free, the tab is gone, or has given up. */
  readonly isLocked: boolean;
}

const WAIT_REASONS = ['back_off', 'refused', 'retry_after', 'woken'] as const;

/** Why an attempt of any tab waits. */
export type WaitReason = (typeof WAIT_REASONS)[number];

/** When the next attempt may start, and what led to it. */
export interface RetryState {
  /** Attempts in a row that have ended without a valid set. */
  readonly attempts: number;
  /** How often the service has refused the set, or has sent an answer that cannot be opened. */
  readonly refusals: number;
  /** When the last of the attempts ended. */
  readonly countedAt: number;
  readonly waitUntil: number;
  /** What `waitUntil` comes from. */
  readonly reason: WaitReason;
  /** Before this instant, no page that wakes up or is opened ends a pause; see `counted`. */
  readonly soonestAt: number;
}

/**
 * A change of the record: a pure function, applied to what the page shows and, inside one atomic update, to what is stored. Returns the
 * same record if there is nothing to change.
 *
 * @param found  what a late store had when it answered: the page made the change before it could see that.
 */
export type Change = (record: SessionRecord, found?: SessionRecord) => SessionRecord;

/** Apply a change. A record has no prototype: a link may set members of `Object.prototype`, which it would inherit. */
export function applied(record: SessionRecord, change: Change, found?: SessionRecord): SessionRecord {
  const after = change(record, found);
  return after === record ? record : ownMembers(after);
}

const YEAR_MS = 366 * 86_400_000;
/** Beyond every difference between clocks. */
const FAR_MS = 1e14;

/** A smaller difference between clocks is ignored: `Date` has a resolution of one second, and answers take time to arrive. */
export const CLOCK_TOLERANCE_MS = 5_000;

/** When a set last arrived, or an attempt last ended without a valid one, by the clock of the page that wrote it. 0: neither is known. */
export function outcomeAt({ receivedAt, retry }: SessionRecord): number {
  return Math.max(receivedAt, retry?.countedAt ?? 0);
}

export function emptyRecord(baseUrl: string): SessionRecord {
  return ownMembers({ v: 2, generation: 0, baseUrl, offsetMs: 0, receivedAt: 0, acceptedUntil: 0, changedAt: 0 });
}

/** A refresh may keep the tokens and extend the times. */
export function isSameTokens(one: TokenSet | undefined, other: TokenSet | undefined): boolean {
  return (
    one?.refreshToken === other?.refreshToken &&
    one?.advertisingToken === other?.advertisingToken &&
    one?.expiresAt === other?.expiresAt
  );
}

/** Whether both have the same set, and the same action put it there. */
export function isSameSet(one: SessionRecord, other: SessionRecord): boolean {
  return one.generation === other.generation && isSameTokens(one.set, other.set);
}

/** A page of another user returns no token and requests none. A page without a label can use every record. */
export function isOfOtherUser(record: SessionRecord, user: string | undefined): boolean {
  return user !== undefined && record.user !== user && (!!record.set || !!record.user);
}

/**
 * `Infinity` if the set arrived "in the future": this device's clock was set back, and another page wrote the record. The size of
 * the step is unknown, so no token counts as valid until the service has answered.
 */
export function serviceTime({ receivedAt, offsetMs }: SessionRecord, now: number): number {
  return now + CLOCK_TOLERANCE_MS < receivedAt ? Number.POSITIVE_INFINITY : now + offsetMs;
}

/** A count, a span (ms) or an instant (epoch ms). 1e15 ms are beyond the year 9999. */
function isPlausible(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value < 1e15;
}

/** Another version, another script or a damaged disk may have written it: unless all of it is plausible, it is read as absent. */
export function parseRecord(stored: unknown, baseUrl: string): SessionRecord {
  const parsed = ignoreFailure(() => {
    const record = ownMembers(stored as SessionRecord);
    const { v, generation, offsetMs, receivedAt, acceptedUntil, changedAt } = record;
    const set = record.set && readTokenSet(record.set);
    const lease = record.lease && ownMembers(record.lease);
    const retry = record.retry && ownMembers(record.retry);
    // By the service's clock, a set cannot have arrived a year before it is due: such an offset would keep it valid for ever.
    const slackMs = set ? receivedAt - set.refreshAt + YEAR_MS : FAR_MS;
    const numbers = [generation, receivedAt, acceptedUntil, changedAt, offsetMs + slackMs];
    if (lease) numbers.push(lease.id, lease.at);
    if (retry) numbers.push(retry.attempts, retry.refusals, retry.countedAt, retry.waitUntil, retry.soonestAt);
    const isSound =
      v === 2 &&
      record.baseUrl === baseUrl &&
      typeof offsetMs === 'number' &&
      numbers.every(isPlausible) &&
      (!retry || WAIT_REASONS.includes(retry.reason));
    return isSound ? ownMembers({ ...record, set, lease, retry }) : undefined;
  });
  return parsed ?? emptyRecord(baseUrl);
}
