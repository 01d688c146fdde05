/**
 * What a held set means at an instant: its phase, the token that may be given out, and when to look again.
 *
 * Pure: the caller brings the record and the instant (service time, epoch ms). No flag outside the record can
 * fall out of step with it.
 */

import type { TokenSet } from './token-set.ts';

/**
 * - `empty`: no set.
 * - `fresh`: before `refreshAt`.
 * - `due`: from `refreshAt` on; the advertising token is still good.
 * - `stale`: the advertising token has expired, the refresh token may still be exchanged.
 * - `ended`: the service refused the refresh token for good; a good advertising token lives out its time.
 * - `optedOut`: the user has opted out. A set supplied since is held back until the service accepts it.
 */
export type Phase = 'empty' | 'fresh' | 'due' | 'stale' | 'ended' | 'optedOut';

/** The part of a record that decides its phase. */
export interface Held {
  readonly set?: TokenSet | undefined;
  /** The service has said that the refresh token is at its end. */
  readonly ended?: boolean | undefined;
  /** The tombstone of an opt-out. */
  readonly optedOut?: boolean | undefined;
}

/** The phase at `now`. */
export function phaseOf({ set, ended, optedOut }: Held, now: number): Phase {
  return optedOut
    ? 'optedOut'
    : !set
      ? 'empty'
      : ended
        ? 'ended'
        : now >= set.expiresAt
          ? 'stale'
          : now >= set.refreshAt
            ? 'due'
            : 'fresh';
}

/** The advertising token that may be given out at `now`: never an expired one, never an opted-out user's. */
export function tokenAt({ set, optedOut }: Held, now: number): string | undefined {
  return set && !optedOut && now < set.expiresAt ? set.advertisingToken : undefined;
}

/** The next instant at which phase or token change by themselves; `Infinity` where none will. */
export function nextWakeAt({ set, optedOut }: Held, now: number): number {
  return (set && !optedOut && [set.refreshAt, set.expiresAt].find((at) => at > now)) || Number.POSITIVE_INFINITY;
}
