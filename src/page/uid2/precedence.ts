/**
 * Decides which of several identities wins: the page's, the cookie that a server has set, the drop-in's copy, the value that the
 * UID2 SDK has left, the tombstone of a logout or an opt-out, or the session's record. Pure, except that it reads the clock to
 * reject implausible times.
 *
 * The drop-in's copies and tombstones have the member `tessera`: the time of their act (login, logout, opt-out), epoch ms. Among
 * copies, tombstones and the record, the newest act wins. A value without that member comes from the page, a server or the UID2 SDK.
 */

import { ownMembers } from '../../token/checks.ts';
import type { Held } from '../../token/phase.ts';
import { type Answer, parsePlainAnswer, type TokenSet, toWire } from '../../token/token-set.ts';
import type { DatedRecord } from './dated-store.ts';
import { type Found, tryTo } from './places.ts';
import type { Identity } from './types.ts';

/** A statement about the user: a set, or that the user has opted out or logged out. */
export interface Claim {
  readonly answer: Answer | 'logout';
  /** Time of the act behind it, epoch ms. */
  readonly actAt: number;
}

/** The time of a value from a server or the UID2 SDK: later than every known time, earlier than that of the page's value. */
const AFTER_ALL_ACTS = Number.MAX_VALUE;

/** The time of a copy without a time of its act: such a copy is used only if nothing else is known. */
export const BEFORE_ALL_ACTS = 1;

/** Reject a time further ahead than this, ms. For a clock that was set back to 1970, today's copies are decades ahead. */
const HUNDRED_YEARS_MS = 3.2e12;

/** Tell whether a claim has the time of its act. */
export function isDated({ actAt }: Claim): boolean {
  return actAt < AFTER_ALL_ACTS;
}

/** Tell whether a claim marks a logout or an opt-out. */
export function isMark({ answer }: Claim): boolean {
  return typeof answer === 'string';
}

/** Read what was found, or what a page supplies; undefined if it is malformed. */
export function claimOf({ from, value }: Found): Claim | undefined {
  const { status, tessera } = ownMembers(value as Identity);
  // A server that says `logout` has no identity, so nothing follows from it.
  const answer = status === 'logout' && tessera ? status : tryTo(() => parsePlainAnswer(value));
  const undated = from === 'page' ? Number.POSITIVE_INFINITY : AFTER_ALL_ACTS;
  const actAt = !tessera ? undated : typeof tessera === 'number' ? tessera : BEFORE_ALL_ACTS;
  // Reject such a time: no later act could be newer.
  const isHostile = tessera && actAt > Date.now() + HUNDRED_YEARS_MS;
  return answer && !isHostile ? { answer, actAt } : undefined;
}

/**
 * Read everything that was found.
 *
 * @param isCookieMode  the page has asked for the cookie. Any sibling subdomain can set a cookie: outside cookie mode, only an
 *   opt-out in it counts.
 */
export function claimsIn(found: readonly Found[], isCookieMode = false): Claim[] {
  return found.flatMap((one) => {
    const claim = claimOf(one);
    const isAdmitted = isCookieMode || one.from !== 'cookie' || claim?.answer === 'optout';
    return claim && isAdmitted ? [claim] : [];
  });
}

/** The claims that win. */
export interface Choice {
  /** The newest copy or tombstone. Behind a tombstone no token is given out until the record has been read. */
  readonly newest?: Claim | undefined;
  /** A set of the page, a server or the UID2 SDK. */
  readonly supplied?: TokenSet | undefined;
}

/** When the set of a claim expires; NaN for a tombstone. */
function expiryOf({ answer }: Claim): number {
  return Number((answer as TokenSet).expiresAt);
}

/** Choose the claims that win. */
export function choose(claims: readonly Claim[]): Choice {
  const sorted = [...claims].sort((one, other) => other.actAt - one.actAt || expiryOf(other) - expiryOf(one));
  return {
    newest: sorted.find((claim) => isMark(claim) || isDated(claim)),
    supplied: sorted.find((claim) => !isMark(claim) && !isDated(claim))?.answer as TokenSet | undefined,
  };
}

/** Return the tokens to use until the record has been read. */
export function heldBy({ newest, supplied }: Choice): Held {
  if (newest && isMark(newest)) return { set: supplied, optedOut: newest.answer === 'optout' };
  return { set: supplied ?? (newest?.answer as TokenSet | undefined) };
}

/** A clock that was set back by less than this counts as correct, ms. The session has the same limit. */
const CLOCK_TOLERANCE_MS = 5_000;

/**
 * Return the time by which tokens expire, until the record has been read. `Infinity`, so that no token counts as valid,
 *
 * - behind a tombstone, because the supplied set may be the one that has ended;
 * - if the clock was set back since the login, because nobody can tell by how much.
 */
export function tokenTime({ newest, supplied }: Choice, now: number): number {
  const isInDoubt = newest && (supplied ? isMark(newest) : now + CLOCK_TOLERANCE_MS < newest.actAt);
  return isInDoubt ? Number.POSITIVE_INFINITY : now;
}

/**
 * List what the record does not know yet and has to follow, in order.
 *
 * @param record      undefined: nothing is stored.
 * @param considered  refresh tokens that were supplied before: a cookie that cannot be erased is not adopted twice.
 */
export function claimsToFollow(
  { newest, supplied }: Choice,
  record: DatedRecord | undefined,
  considered: ReadonlySet<string | undefined>,
): Claim[] {
  // A session alone wrote a record without a time; no copy is known to be newer.
  const recordAt = record ? (record.actAt ?? AFTER_ALL_ACTS) : 0;
  const toFollow: Claim[] = [];
  if (newest) {
    // An opt-out without a time is adopted once.
    const isNewer = newest.actAt > recordAt && (isDated(newest) || !record?.optedOut);
    // For the same login, the set that expires later is the refreshed one.
    const isRefreshed = newest.actAt === recordAt && expiryOf(newest) > Number(record?.set?.expiresAt);
    if (isNewer || isRefreshed) toFollow.push(newest);
  }
  // After an opt-out, a set waits until the service accepts it.
  if (supplied && !considered.has(supplied.refreshToken)) toFollow.push({ answer: supplied, actAt: AFTER_ALL_ACTS });
  return toFollow;
}

/**
 * Return what a record says.
 *
 * @param isInForce  whether its set has not ended.
 */
export function claimOfRecord(record: DatedRecord | undefined, isInForce: boolean): Claim | undefined {
  const claim = (answer: Claim['answer']) => ({ answer, actAt: record?.actAt || BEFORE_ALL_ACTS });
  if (record?.optedOut) return claim('optout');
  if (record?.set) return isInForce ? claim(record.set) : undefined;
  return record?.clearedAt === undefined ? undefined : claim('logout');
}

/**
 * When a tombstone expires, epoch ms: in the year 5138, which browsers shorten for cookies. A time that depends on the clock
 * would change the tombstone at every write.
 */
const NEVER = 1e14;

/** Return the value that keeps a claim. A tombstone holds no token. */
export function wireOf({ answer, actAt }: Claim): Identity {
  const value =
    typeof answer === 'string'
      ? // The UID2 SDK reads these members.
        { status: answer, identity_expires: NEVER, refresh_expires: NEVER }
      : toWire(answer);
  return { ...value, tessera: actAt };
}
