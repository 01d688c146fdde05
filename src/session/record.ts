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

/** Everything that is stored: one value, so that token and key are never apart. Instants are local epoch ms. */
export interface SessionRecord extends Held {
  /** Form of this record. */
  readonly v: 1;
  /** Raised by every explicit act (a set supplied, a logout, an opt-out by the host): fences late answers. */
  readonly generation: number;
  /** The operator that issued the set; a record of another one reads as absent. */
  readonly baseUrl: string;
  /** The service's clock minus this device's, ms; 0 where it is unknown or small. */
  readonly offsetMs: number;
  /** When the set arrived. */
  readonly receivedAt?: number | undefined;
  /** End of the refresh token of the set that the host supplied: tells that set again, is useless as a credential. */
  readonly fingerprint?: string | undefined;
  /** When the user was logged out; gone once a set is supplied. */
  readonly clearedAt?: number | undefined;
}

/** A change of the record. It returns the very record that it got where there is nothing to change. */
export type Act = (record: SessionRecord) => SessionRecord;

/** The record of a session that has nothing. */
export const emptyRecord = (baseUrl: string): SessionRecord => ({ v: 1, generation: 0, baseUrl, offsetMs: 0 });

/**
 * Parse what a store gave back.
 *
 * @returns undefined for nothing, and for a record of another operator.
 * @throws where the record is damaged or of an unknown form.
 */
export const parseRecord = (stored: unknown, baseUrl: string): SessionRecord | undefined => {
  if (!stored) return undefined;
  const record = stored as SessionRecord;
  const set = record.set && parseTokenSet(record.set, true);
  // A sum of anything but numbers is not finite.
  if (record.v !== 1 || !Number.isFinite(record.generation + record.offsetMs)) throw new TypeError('record');
  return record.baseUrl === baseUrl ? { ...record, set } : undefined;
};

const fingerprintOf = (set: TokenSet): string => set.refreshToken.slice(-24);

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

/** The host supplies a set. Behind a tombstone it is held back: `phaseOf` stays `optedOut` until the service accepts it. */
export const supply =
  (set: TokenSet, now: number): Act =>
  (record) => ({ ...forget(record), set, receivedAt: now, fingerprint: fingerprintOf(set) });

/** The page was rendered with a set: the same as {@link supply}, unless that set, or its logout, is already known. */
export const offer =
  (set: TokenSet, now: number): Act =>
  (record) =>
    record.fingerprint === fingerprintOf(set) && (record.set || now - (record.clearedAt ?? 0) < LOGOUT_MEMORY_MS)
      ? record
      : supply(set, now)(record);

/** Logout. The fingerprint stays, for {@link offer}. */
export const logOut =
  (now: number): Act =>
  (record) => ({ ...forget(record), fingerprint: record.fingerprint, clearedAt: now });

/** The host says that the user has opted out: tokens and fingerprint go, the tombstone stays. */
export const optOut: Act = (record) => ({ ...forget(record), optedOut: true });

/** A clock that differs by less is taken to be right: `Date` has whole seconds only, and answers travel. */
const CLOCK_TOLERANCE_MS = 5_000;

/** What the service may say to a refresh token: a newer set, that the user has opted out, or that it is at its end. */
export type Word = Answer | 'ended';

/**
 * The service has answered. That counts only for the very set, of the very generation, that was sent.
 *
 * @param sent    the record as it was when its refresh token was sent.
 * @param word    `ended`: the refresh token was refused for good.
 * @param dateMs  the answer's `Date`, epoch ms, where it could be read.
 */
export const answered =
  (sent: SessionRecord, word: Word, dateMs: number | undefined, now: number): Act =>
  (record) => {
    if (record.generation !== sent.generation || record.set?.refreshToken !== sent.set?.refreshToken) return record;
    if (word === 'optout') return { ...optOut(record), generation: record.generation };
    // A set that was held back behind a tombstone goes.
    if (word === 'ended') return record.optedOut ? { ...record, set: undefined } : { ...record, ended: true };
    let offsetMs = dateMs ? dateMs - now : record.offsetMs;
    if (Math.abs(offsetMs) < CLOCK_TOLERANCE_MS) offsetMs = 0;
    // A set that is due on arrival means that this device's clock runs ahead. It is good for expiresAt - refreshAt at
    // least: take now for refreshAt, and refresh half-way.
    const aheadMs = now + offsetMs - word.refreshAt;
    const set = aheadMs < 0 ? word : { ...word, refreshAt: (word.refreshAt + word.expiresAt) / 2 };
    if (aheadMs > 0) offsetMs -= aheadMs;
    // The service accepts the user: a tombstone falls.
    return { ...record, set, optedOut: undefined, offsetMs, receivedAt: now };
  };
