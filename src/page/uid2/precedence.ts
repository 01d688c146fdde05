/**
 * Decides which of several candidates counts. The drop-in's copies and marks have the member `tessera`: the `changedAt` of the record
 * that they follow. Among them and the record, the latest change counts. A value without that member comes from a page, a server or the
 * UID2 SDK: it is a change of its own.
 */

import { loggedOut, optedOut, setByHost } from '../../session/rules/host-changes.ts';
import { applied, parseRecord, type SessionRecord } from '../../session/rules/record.ts';
import { ownMembers } from '../../token/checks.ts';
import { ignoreFailure } from '../../token/errors.ts';
import { type Answer, parsePlainAnswer, type TokenSet, toWire } from '../../token/token-set.ts';
import type { Found } from './places.ts';
import type { Identity } from './types.ts';

export interface Candidate {
  readonly answer: Answer | 'logout';
  /** When the change behind it was made, epoch ms; undefined unless the drop-in has written the value. */
  readonly changedAt: number | undefined;
}

/** The `changedAt` of a set that the session has not accepted yet: it counts only if nothing else is known. */
export const BEFORE_ALL = 1;

/** A time further ahead is rejected. For a clock that was set back to 1970, today's copies are decades ahead. */
const HUNDRED_YEARS_MS = 3.2e12;

export function isMark({ answer }: Candidate): boolean {
  return typeof answer === 'string';
}

/** Undefined if a value is malformed. */
export function candidateOf(value: unknown): Candidate | undefined {
  const { status, tessera } = ownMembers(value as Identity);
  // A server that says `logout` has no identity, so nothing follows from it.
  const answer = status === 'logout' && tessera ? status : ignoreFailure(() => parsePlainAnswer(value));
  const changedAt = !tessera ? undefined : typeof tessera === 'number' ? tessera : BEFORE_ALL;
  // No later change could be newer.
  const isHostile = changedAt && changedAt > Date.now() + HUNDRED_YEARS_MS;
  return answer && !isHostile ? { answer, changedAt } : undefined;
}

/** `isCookieMode`: the page has asked for the cookie. Any sibling subdomain can set one: otherwise, only an opt-out in it counts. */
export function candidatesIn(found: readonly Found[], isCookieMode = false): Candidate[] {
  return found.flatMap(({ from, value }) => {
    const candidate = candidateOf(value);
    const isAdmitted = isCookieMode || from === 'local' || candidate?.answer === 'optout';
    return candidate && isAdmitted ? [candidate] : [];
  });
}

export interface Choice {
  /** The newest copy or mark. Behind a mark no token is given out until the record has been read. */
  readonly newest?: Candidate | undefined;
  /** A set of the page, a server or the UID2 SDK. */
  readonly supplied?: TokenSet | undefined;
}

/** An opt-out that a page, a server or the UID2 SDK states is newer than every copy. */
function timeOf({ changedAt = Number.POSITIVE_INFINITY }: Candidate): number {
  return changedAt;
}

/** NaN for a mark. */
function expiryOf({ answer }: Candidate): number {
  return Number((answer as TokenSet).expiresAt);
}

/** `candidates`: in the order in which supplied sets outrank each other: the page's, cookies, local storage. */
export function choose(candidates: readonly Candidate[]): Choice {
  const isOwn = (candidate: Candidate) => isMark(candidate) || !!candidate.changedAt;
  const [newest] = candidates
    .filter(isOwn)
    .sort((one, other) => timeOf(other) - timeOf(one) || expiryOf(other) - expiryOf(one));
  return { newest, supplied: candidates.find((candidate) => !isOwn(candidate))?.answer as TokenSet | undefined };
}

function isLater(copy: Candidate, record: SessionRecord): boolean {
  const { changedAt } = copy;
  // An opt-out without a time is adopted once.
  if (!changedAt) return !record.optedOut;
  // Of the same change, the set that expires later is the refreshed one.
  const isRefreshed = expiryOf(copy) > Number(record.set?.expiresAt);
  return changedAt > record.changedAt || (changedAt === record.changedAt && isRefreshed);
}

/** The record, or the one that follows from a later copy or mark and has its time. */
export function withNewest(record: SessionRecord, newest: Candidate | undefined): SessionRecord {
  if (!newest || !isLater(newest, record)) return record;
  const { answer, changedAt = 0 } = newest;
  // If the clock was set back since, the session must not use its time to tell whether the token has expired.
  const at = Math.max(Date.now(), changedAt);
  const change = answer === 'logout' ? loggedOut(at) : answer === 'optout' ? optedOut(at) : setByHost(answer, at);
  const after = applied(record, change);
  const dated = changedAt > BEFORE_ALL ? { ...after, changedAt } : after;
  // A set with implausible times changes nothing: the session could not read it.
  return parseRecord(dated, record.baseUrl).changedAt ? dated : record;
}

/** What pages may know until the database contains it. If the clock was set back since, no token counts: nobody can tell by how much. */
export function withChoice(record: SessionRecord, { newest, supplied }: Choice): SessionRecord {
  const after = withNewest(record, newest);
  // Behind a mark, no token counts as valid: the supplied set may be the one that has ended.
  return supplied ? setByHost(supplied, newest && isMark(newest) ? Number.POSITIVE_INFINITY : 0)(after) : after;
}

/** Tell whether a copy or mark says what the record does not contain yet. */
export function isNews(record: SessionRecord, newest: Candidate | undefined): boolean {
  return withNewest(record, newest) !== record;
}

export function candidateOfRecord(record: SessionRecord, hasEnded: boolean): Candidate | undefined {
  const { optedOut, set, changedAt } = record;
  if (set && hasEnded && !optedOut) return undefined;
  return changedAt ? { answer: optedOut ? 'optout' : (set ?? 'logout'), changedAt } : undefined;
}

/** When a mark expires, epoch ms: in the year 5138. A time that depends on the clock would change the mark at every write. */
const NEVER = 1e14;

/** A mark holds no token. */
export function wireOf({ answer, changedAt }: Candidate): Identity {
  const value =
    typeof answer === 'string'
      ? // The UID2 SDK reads these members.
        { status: answer, identity_expires: NEVER, refresh_expires: NEVER }
      : toWire(answer);
  return { ...value, tessera: changedAt };
}
