/** The meaning of a set at an instant (epoch ms by the clock of the service). */

import type { TokenSet } from './token-set.ts';

/**
 * - `empty`: no set.
 * - `fresh`: before `refreshAt`.
 * - `due`: from `refreshAt` on; the advertising token is still valid.
 * - `stale`: the advertising token has expired; the refresh token may still be exchanged.
 * - `ended`: the service has refused the refresh token permanently; a valid advertising token is given out until it expires.
 * - `optedOut`: the user has opted out. A set supplied since then is held back until the service accepts it.
 */
export type Phase = 'empty' | 'fresh' | 'due' | 'stale' | 'ended' | 'optedOut';

/** The phases with a set of a user. What asks for a user ends in `phase satisfies PhaseWithUser`, so another phase does not compile. */
export type PhaseWithUser = 'fresh' | 'due' | 'stale' | 'ended';

/** The part of a record that decides its phase. */
export interface Held {
  readonly set?: TokenSet | undefined;
  /** The service has said that the refresh token is finished. */
  readonly ended?: boolean | undefined;
  /** The tombstone of an opt-out. */
  readonly optedOut?: boolean | undefined;
}

/** Return the phase at `now` (epoch ms): `phaseOf({ set }, set.refreshAt)` is `'due'`. */
export function phaseOf({ set, ended, optedOut }: Held, now: number): Phase {
  if (optedOut) return 'optedOut';
  if (!set) return 'empty';
  if (ended) return 'ended';
  if (now >= set.expiresAt) return 'stale';
  return now >= set.refreshAt ? 'due' : 'fresh';
}

/**
 * Return the advertising token that may be used at `now` (epoch ms).
 *
 * @returns undefined if there is none, it has expired, or the user has opted out.
 * @example tokenAt({ set }, set.expiresAt) // undefined
 */
export function tokenAt({ set, optedOut }: Held, now: number): string | undefined {
  return set && !optedOut && now < set.expiresAt ? set.advertisingToken : undefined;
}

/**
 * Return the next instant (epoch ms) at which the phase or the token changes because of time alone, or `Infinity`.
 *
 * @example nextWakeAt({ set }, set.refreshAt) // set.expiresAt
 */
export function nextWakeAt({ set, optedOut }: Held, now: number): number {
  if (!set || optedOut) return Number.POSITIVE_INFINITY;
  if (now < set.refreshAt) return set.refreshAt;
  return now < set.expiresAt ? set.expiresAt : Number.POSITIVE_INFINITY;
}
