/** The public view of a session: its state, its next step and its events. */

import type { TokenError } from '../../token/errors.ts';
import type { Phase } from '../../token/phase.ts';
import type { NeedReason } from './attempt-plan.ts';
import type { Cause } from './page-state.ts';
import type { WaitReason } from './retry.ts';

/**
 * What a session is waiting for.
 *
 * - `refresh_from`: the set is fresh; it is refreshed at its `refresh_from`.
 * - `expires`: no refresh is planned; the advertising token expires.
 * - `in_progress`: a refresh or a call of `provide` is in progress.
 * - `other_tab`: another tab is refreshing, or calling `provide`.
 * - `back_off`: the random pause after a network error, a time-out, a status 408, 425, 429 or 5xx, or a failed `provide`.
 * - `retry_after`: the service asked for a pause.
 * - `budget`: many attempts in a row have failed: from the fifth on they are at least 180 s apart, from the fifteenth on 125 s. So
 *   there are at most 15 in any 30 minutes.
 * - `refused`: the service rejected the set, or its answer could not be opened; the next attempt is 30 s, 2 min or 10 min later.
 * - `woken`: the page woke up, and the session tries again within 2 s.
 * - `hidden`: an attempt is due; a hidden page waits until it is shown or asked for a token.
 * - `consent`: the consent gate has not answered `true`.
 * - `storage`: the stored record is being read or written.
 * - `page`: the page must call `setTokens`, `signIn` or `refresh`: there is no `provide`, or nobody is signed in. If the stored set
 *   belongs to another user, load the page again.
 */
export type NextReason =
  | WaitReason
  | 'refresh_from'
  | 'expires'
  | 'in_progress'
  | 'other_tab'
  | 'hidden'
  | 'consent'
  | 'storage'
  | 'page';

/** What a session will do next, when, and why not earlier. */
export interface NextStep {
  /** Local epoch ms; absent if no instant is known. */
  readonly at?: number | undefined;
  readonly action: 'refresh' | 'provide' | 'expire';
  readonly reason: NextReason;
}

/** The state of a session: the same frozen object until something changes. It contains no token. */
export interface SessionState {
  readonly phase: Phase;
  /** When a refresh is due. This and the next two are epoch ms in the service's time. */
  readonly refreshAt?: number | undefined;
  /** When the advertising token expires. */
  readonly expiresAt?: number | undefined;
  /** When the refresh token expires. */
  readonly endsAt?: number | undefined;
  /** Where the record is kept: `indexeddb`, `memory`, or the `kind` of the given store (`custom` if it has none). */
  readonly persistence: string;
  /** What the session is waiting for before it can return a token. */
  readonly waitingFor?: 'consent' | 'storage' | 'provide' | 'refresh' | undefined;
  /** The last failure; absent once there is another set. */
  readonly lastError?: TokenError | undefined;
  /** The service's clock minus the device's clock, ms, if the device's clock is known to be off. */
  readonly clockOffsetMs?: number | undefined;
  /** What the session will do next, when, and why. Absent after `close()`. */
  readonly next?: NextStep | undefined;
}

/** Events and their payloads. Instants are epoch ms in the service's time. */
export interface SessionEvents {
  /** There is a different valid token. */
  token: { advertisingToken: string; expiresAt: number; refreshAt: number; cause: Cause };
  /** The advertising token expired and there is no other, or the service ended the refresh token. */
  expired: { token: 'advertising' | 'refresh' };
  /** The service or the host says that the user has opted out. */
  optout: Record<string, never>;
  /** The page should get a new set; once per need. */
  needsTokens: { reason: NeedReason };
  /** Something failed in the background; the session continues. */
  error: TokenError;
}

/** Name of an event of a session. */
export type EventName = keyof SessionEvents;

/** An event to emit, with its payload. */
export type SessionEvent = { [E in EventName]: readonly [event: E, payload: SessionEvents[E]] }[EventName];

/** Tell whether two states have equal members. */
export function isSameState(one: SessionState, other: SessionState): boolean {
  const { next, ...rest } = one;
  const { next: otherNext, ...otherRest } = other;
  return isSameFlat(rest, otherRest) && isSameFlat(next, otherNext);
}

/** Tell whether two objects have the same members, compared by identity; an absent object has none. */
export function isSameFlat(one: object = {}, other: object = {}): boolean {
  const [entries, others] = [Object.entries(one), Object.entries(other)];
  return entries.length === others.length && entries.every(([name, value]) => Object.is(value, other[name as never]));
}
