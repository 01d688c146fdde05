/**
 * Parses what a store returned. A stored record is untrusted until it is parsed: another version, another script or a damaged disk
 * may have written it.
 */

import { kindOf, ownMembers, throwIf, typeFault } from '../../token/checks.ts';
import { isDevelopment } from '../../token/development.ts';
import { expectedGot } from '../../token/errors.ts';
import { parseTokenSet } from '../../token/token-set.ts';
import { MAX_FINGERPRINTS, type SessionRecord } from './record.ts';
import { isPlausible, parseRetry } from './retry.ts';

/** The largest plausible clock offset: a clock that was set back to 1970 is off by decades. */
const MAX_OFFSET_MS = 100 * 365 * 86_400_000;
/** The hash of a user's label; see `user.ts`. */
const HASH = /^[a-z\d]{1,7}$/;

/**
 * Parse what a store returned, field by field. Version 1 is converted. A record written by a newer version is read without its set and
 * its retry state, whose format this version cannot know.
 *
 * @returns undefined if nothing is stored, or if the record belongs to another operator.
 * @throws {TypeError | TokenError} if the record is damaged.
 */
export function parseRecord(stored: unknown, baseUrl: string): SessionRecord | undefined {
  if (stored === undefined || stored === null) return undefined;
  // In production, the check of the generation rejects any other value.
  if (isDevelopment) throwIf(typeFault('stored record', 'object', stored));
  const given = ownMembers(stored);
  const { v, generation, offsetMs, signalGeneration, user } = given;
  // A generation near 2^53 cannot be incremented: a logout would be written, and then read as damaged.
  const isCount = Number.isSafeInteger(generation) && isPlausible(Math.abs(generation as number));
  throwIf(!isCount && expectedGot('generation', 'a whole number', kindOf(generation)));
  throwIf(!Number.isFinite(offsetMs) && expectedGot('offsetMs', 'a finite number', kindOf(offsetMs)));
  if (given['baseUrl'] !== baseUrl) return undefined;
  const isReadable = v === 1 || v === 2;
  const set = isReadable && given['set'] ? parseTokenSet(given['set'], true) : undefined;
  const retry = v === 1 ? retryOfVersion1(given['run']) : v === 2 ? given['retry'] : undefined;
  return {
    v: 2,
    generation: generation as number,
    baseUrl,
    offsetMs: Math.abs(offsetMs as number) < MAX_OFFSET_MS ? (offsetMs as number) : 0,
    fingerprints: v === 1 ? fingerprintsOfVersion1(given['fingerprint']) : parseFingerprints(given['fingerprints']),
    set,
    ended: set && given['ended'] ? true : undefined,
    optedOut: given['optedOut'] ? true : undefined,
    receivedAt: instant(given['receivedAt']),
    clearedAt: instant(given['clearedAt']),
    provideAt: instant(given['provideAt']),
    signalGeneration: Number.isSafeInteger(signalGeneration) ? (signalGeneration as number) : undefined,
    // A record whose label cannot be read belongs to no known user.
    user: typeof user === 'string' && HASH.test(user) ? user : undefined,
    retry: set || given['optedOut'] ? parseRetry(retry) : undefined,
  };
}

/** An implausible instant is read as absent. */
const instant = (value: unknown): number | undefined => (isPlausible(value) ? value : undefined);

/** Damaged entries are dropped. */
function parseFingerprints(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string').slice(0, MAX_FINGERPRINTS) : undefined;
}

/** Version 1 kept the fingerprints in one string of 24 characters each. */
function fingerprintsOfVersion1(value: unknown): readonly string[] | undefined {
  return typeof value === 'string' ? (value.match(/.{1,24}/gs) ?? undefined) : undefined;
}

/** Version 1 marked a running attempt by `waitMs: 0`, and kept budget and `Retry-After` in one number. */
function retryOfVersion1(run: unknown): unknown {
  const { tries, steps, refusals, triedAt, waitMs, leastMs } = Object(run) as Record<string, unknown>;
  const isRunning = waitMs === 0;
  return {
    attempts: tries,
    outages: steps,
    refusals,
    startedAt: triedAt,
    isRunning,
    waitMs,
    retryAfterMs: leastMs,
  };
}
