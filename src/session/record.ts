/**
 * The record that a session keeps, and the acts that change it: pure functions from record to record.
 *
 * The hub applies an act to its memory at once and to the stored record inside one atomic update, so the same rule
 * decides in both places, whatever another tab has written meanwhile. No I/O, no clock of its own here.
 */

import type { Held } from '../token/phase.ts';
import type { Answer, TokenSet } from '../token/token-set.ts';
import { parseTokenSet } from '../token/token-set.ts';

/** How long a logout remembers the set that it ended, so that a cached page cannot bring it back: 30 days. */
const LOGOUT_MEMORY_MS = 30 * 86_400_000;

/**
 * The tries of a set that have brought no newer one, of all tabs together: one back-off, one budget, one tab at a time.
 */
export interface Run {
  /** Calls so far, also those that nobody lived to see the end of. */
  readonly tries: number;
  /** Failures among them that lengthen the back-off. */
  readonly steps: number;
  /** How often the service has refused the set. */
  readonly refusals: number;
  /** When the last call began, local epoch ms. */
  readonly triedAt: number;
  /** How long to wait from then on; 0: whoever made the call has not come back yet. */
  readonly waitMs: number;
  /** How long to wait whoever asks: the budget is spent, or the service wants to be left alone. */
  readonly leastMs: number;
}

/** Everything that is stored: one value, so that token and key are never apart. Instants are local epoch ms. */
export interface SessionRecord extends Held {
  /** Form of this record. */
  readonly v: 1;
  /** Raised by every explicit act (a set supplied, a logout) and by every opt-out: fences late answers. */
  readonly generation: number;
  /** The operator that issued the set; a record of another one reads as absent. */
  readonly baseUrl: string;
  /** The service's clock minus this device's, ms; 0 where it is unknown or small. */
  readonly offsetMs: number;
  /** When the set arrived. */
  readonly receivedAt?: number | undefined;
  /** Ends of the refresh tokens of the sets that the host supplied, the last first: they tell those sets again. */
  readonly fingerprint?: string | undefined;
  /** When the user was logged out, or opted out; gone once a set is supplied. */
  readonly clearedAt?: number | undefined;
  /** Tries of this set since it arrived; gone with it. */
  readonly run?: Run | undefined;
}

/** A change of the record. It returns the very record that it got where there is nothing to change. */
export type Act = (record: SessionRecord) => SessionRecord;

/**
 * Parse what a store gave back. A form to come keeps the names, but its set is not for this version: it reads as none.
 *
 * @returns undefined for nothing, and for a record of another operator.
 * @throws where the record is damaged.
 */
export function parseRecord(stored: unknown, baseUrl: string): SessionRecord | undefined {
  if (!stored) return undefined;
  const record = stored as SessionRecord;
  const set = record.set && record.v === 1 ? parseTokenSet(record.set, true) : undefined;
  // What is no text has no `trim`.
  record.fingerprint?.trim();
  if (!Number.isFinite(record.generation + record.offsetMs)) throw new TypeError('damaged');
  return record.baseUrl === baseUrl ? { ...record, set } : undefined;
}

/** As much of a refresh token as tells it from others, and is useless as a credential. */
const fingerprintOf = (set: TokenSet): string => set.refreshToken.slice(-24);

/** Room for those of four sets: the last one, and those that pages in a cache may still come with. */
const FINGERPRINTS_LENGTH = 96;

/**
 * Forget everything that tells of the user: what is left fences late answers, keeps the tombstone of an opt-out, and
 * knows the clock. Every explicit act begins so; consent withdrawn is no more than this.
 */
export const forget: Act = ({ generation, baseUrl, offsetMs, optedOut }) => ({
  v: 1,
  generation: generation + 1,
  baseUrl,
  offsetMs,
  optedOut,
});

/** The record of a session that has nothing. */
export function emptyRecord(baseUrl: string): SessionRecord {
  return forget({ v: 1, generation: -1, baseUrl, offsetMs: 0 });
}

/** The host supplies a set. Behind a tombstone it is held back: `phaseOf` stays `optedOut` until the service accepts it. */
export function supply(set: TokenSet, now: number): Act {
  return (record) => {
    const fingerprint = fingerprintOf(set);
    const others = (record.fingerprint ?? '').replace(fingerprint, '');
    return {
      ...forget(record),
      set,
      receivedAt: now,
      fingerprint: (fingerprint + others).slice(0, FINGERPRINTS_LENGTH),
    };
  };
}

/**
 * `provide` brings a set: late where somebody has acted since `before`, when it was asked. What was tried with the set
 * before counts, or a service that refuses them all has no peace.
 */
export function provided(before: SessionRecord) {
  return (set: TokenSet, now: number): Act =>
    (record) =>
      isSame(record, before)
        ? { ...supply(set, now)(record), run: record.run && { ...record.run, refusals: 0 } }
        : record;
}

/** The page was rendered with a set: the same as {@link supply}, unless that set, or its logout, is already known. */
export function offer(set: TokenSet, now: number): Act {
  return (record) =>
    record.fingerprint?.includes(fingerprintOf(set)) && (record.set || now - (record.clearedAt ?? 0) < LOGOUT_MEMORY_MS)
      ? record
      : supply(set, now)(record);
}

/** Logout. The fingerprints stay, for {@link offer}, unless they too are to be forgotten. */
export function logOut(now: number, isForgotten: unknown): Act {
  return (record) => ({
    ...forget(record),
    fingerprint: isForgotten ? undefined : record.fingerprint,
    clearedAt: now,
  });
}

/** The user has opted out: tokens and fingerprints go, the tombstone stays. */
export function optOut(now: number): Act {
  return (record) => ({ ...forget(record), optedOut: true, clearedAt: now });
}

/** Whether two records hold the same set, brought by the same act. */
export function isSame(one: SessionRecord, other: SessionRecord): boolean {
  return one.generation === other.generation && one.set?.refreshToken === other.set?.refreshToken;
}

/** A clock that differs by less is taken to be right: `Date` has whole seconds only, and answers travel. */
const CLOCK_TOLERANCE_MS = 5_000;

/** The service's time; `Infinity` where the clock was set back since the set arrived, and nobody knows by how much. */
export function serviceTime({ receivedAt = 0, offsetMs }: SessionRecord, now: number): number {
  return now + CLOCK_TOLERANCE_MS < receivedAt ? Number.POSITIVE_INFINITY : now + offsetMs;
}

/**
 * This device's clock was set back by `backMs`: put right what was measured by it, also for the tabs that have not noticed.
 *
 * @param seen  the record of the tab that has: of many that have, the first counts.
 */
export function setBack(seen: SessionRecord, backMs: number): Act {
  return (record) => {
    const { run, receivedAt = 0, offsetMs } = record;
    return receivedAt === seen.receivedAt
      ? {
          ...record,
          offsetMs: offsetMs + backMs,
          receivedAt: receivedAt - backMs,
          run: run && { ...run, triedAt: run.triedAt - backMs },
        }
      : record;
  };
}

/** A set that is due within this, or within a twentieth of its time, is due. */
const DUE_MS = 60_000;

/** What the service may say to a refresh token: a newer set, that the user has opted out, or that it is at its end. */
export type Word = Answer | 'ended';

/**
 * The service has answered. That counts only for the very set, of the very generation, that was sent.
 *
 * @param sent    the record as it was when its refresh token was sent.
 * @param word    `ended`: the refresh token was refused for good.
 * @param dateMs  the answer's `Date`, epoch ms, where it could be read.
 */
export function answered(sent: SessionRecord, word: Word, dateMs: number | undefined, now: number): Act {
  return (record) => {
    if (!isSame(record, sent)) return record;
    if (word === 'optout') return optOut(now)(record);
    const { run } = record;
    const next = { ...record, run: undefined };
    // A set that was held back behind a tombstone goes. Else the tries stay: the next set is tried as seldom.
    if (word === 'ended') return record.optedOut ? { ...next, set: undefined } : { ...record, ended: true };
    // The service looked at its clock between question and answer. Where that cannot be, its clock is taken to be as late
    // as it may be: better no token than one that has expired.
    const { triedAt } = (run ?? sent.run)!;
    let offsetMs = dateMs ? dateMs - triedAt : record.offsetMs;
    if (dateMs! > triedAt - CLOCK_TOLERANCE_MS && dateMs! < now + CLOCK_TOLERANCE_MS) offsetMs = 0;
    // A set that was due when it was asked for, or as good as due, means that this device's clock runs ahead. It is good
    // for expiresAt - refreshAt at least: take that instant for refreshAt, and refresh half-way.
    const { refreshAt, expiresAt } = word;
    const aheadMs = triedAt + offsetMs - refreshAt;
    const isDue = aheadMs > -Math.min(DUE_MS, (expiresAt - refreshAt) / 20);
    const set = isDue ? { ...word, refreshAt: (refreshAt + expiresAt) / 2 } : word;
    if (aheadMs > 0) offsetMs -= aheadMs;
    // The service accepts the user: a tombstone falls.
    return { ...next, set, optedOut: undefined, offsetMs, receivedAt: now };
  };
}
