/** When an attempt may start: its pause, and the lease of another tab. Both are part of the record, so all tabs share them. */

import type { TokenError } from '../../token/errors.ts';
import { type Change, CLOCK_TOLERANCE_MS, type Lease, type RetryState, type SessionRecord } from './record.ts';

/** Why a new set is needed: there is none, the refresh token has ended, or the service keeps refusing it. */
export type NeedReason = 'empty' | 'ended' | 'refused';

export interface Plan {
  readonly kind: 'refresh' | 'provide';
  readonly need?: NeedReason | undefined;
  /** The page called `refresh()`: neither earlier refusals nor a pause delay it, unless the service asked for the pause. */
  readonly isExplicit: boolean;
}

/** The pause after a failure: it doubles from `firstMs` to `maxMs`. */
export interface BackOff {
  readonly firstMs: number;
  readonly maxMs: number;
}

export const NEVER = Number.POSITIVE_INFINITY;

/** No pause and no lease is longer, and no retry state older, ms. */
export const DAY_MS = 86_400_000;

/** Pauses after a refusal, ms. After the last of them a new set is needed. */
export const REFUSAL_SPACING_MS = [30_000, 120_000, 600_000];

/** Statuses below 500 of a service that is overloaded: the same request may succeed later. */
const TEMPORARY = [408, 425, 429];

/** The service has refused the set, or has sent an unusable answer. An error without a status had no answer. */
export function isRefusal({ kind }: Plan, { status = 500 }: Partial<Pick<TokenError, 'status'>>): boolean {
  return kind === 'refresh' && status < 500 && !TEMPORARY.includes(status);
}

/** The retry state, if it still counts at `now`. */
export function currentRetry({ retry }: SessionRecord, now: number): RetryState | undefined {
  if (!retry || now >= retry.countedAt + DAY_MS) return undefined;
  // One from the future shows that the clock was set back: nobody knows how long to wait, but the attempts count.
  return isFuture(retry.countedAt, now) ? { ...retry, refusals: 0, waitUntil: 0, soonestAt: 0 } : retry;
}

/** The clock was set back since. Another tab may write an instant a little later than `now` while a change waits for the store. */
export function isFuture(at: number, now: number): boolean {
  return at > now + CLOCK_TOLERANCE_MS;
}

/** Whether the service has refused the set so often that a new one is needed. */
export function isUsedUp(retry: RetryState | undefined): boolean {
  return !!retry && retry.refusals > REFUSAL_SPACING_MS.length;
}

export function earliestStart(plan: Plan, retry: RetryState | undefined): number {
  if (!retry) return 0;
  if (plan.isExplicit) return plan.kind === 'refresh' && retry.reason === 'retry_after' ? retry.waitUntil : 0;
  return retry.waitUntil;
}

/** The pause after a number of attempts in a row, ms. `part`: a fraction of its full length; default: one that was drawn. */
export type Pause = (attempts: number, part?: number) => number;

/** The smallest fraction that is drawn. */
export const LEAST_PART = 3 / 4;

/** Shortest pause, whatever the options say, ms: a service that fails must not be called many times a second. */
const SHORTEST_MS = 1_000;

/**
 * Draw the random part of a pause, so that pages do not try again in the same instant: it takes off up to a quarter. With the defaults,
 * the service gets at most 15 calls in any 30 minutes.
 */
export function drawPause({ firstMs, maxMs }: BackOff): Pause {
  const drawn = 1 - Math.random() * (1 - LEAST_PART);
  return (attempts, part = drawn) =>
    Math.max(SHORTEST_MS, part * Math.min(firstMs * 2 ** (attempts - 1), maxMs, DAY_MS) || 0);
}

/** How long other tabs wait for an attempt, ms. */
const LEASE_MS = 12_000;

export function leaseEnd({ at }: Lease): number {
  return at + LEASE_MS;
}

/** `goneId`: the lease whose tab is gone. */
export function isLeased({ lease }: SessionRecord, now: number, goneId?: number): boolean {
  if (!lease || lease.id === goneId) return false;
  return !isFuture(lease.at, now) && now < leaseEnd(lease);
}

/**
 * The page woke up, came online, or was opened without a token: the next attempt may start at `at`, unless the service asked for the
 * pause or refused the set, or there were too many attempts.
 */
export function wokeUp(at: number): Change {
  return (record) => {
    const { retry } = record;
    if (retry?.reason !== 'back_off' || retry.waitUntil <= at || retry.soonestAt > at) return record;
    return { ...record, retry: { ...retry, waitUntil: at, reason: 'woken' } };
  };
}
