/** The public state of a session, and what it will do next. Types only. */

import type { TokenError } from '../../token/errors.ts';
import type { Phase } from '../../token/phase.ts';
import type { WaitReason } from './record.ts';

/**
 * What a session is waiting for.
 *
 * - `refresh_from`: the set is fresh; it is refreshed at its `refresh_from`.
 * - `expires`: no refresh is planned; the advertising token expires.
 * - `in_progress`: a refresh or a call of `provide` is in progress.
 * - `other_tab`: another tab is refreshing, or calling `provide`.
 * - `back_off`: the pause after a network error, a time-out, a status 408, 425, 429 or 5xx, or a failed `provide`.
 * - `retry_after`: the service asked for a pause.
 * - `refused`: the service rejected the set, or its answer could not be opened; the next attempt is 30 s, 2 min or 10 min later.
 * - `woken`: the page woke up, or was opened without a token, and the session tries again within 2 s.
 * - `hidden`: an attempt is due; a hidden page waits until it is shown or asked for a token.
 * - `consent`: the consent gate has not answered `true`.
 * - `storage`: the stored record is being read or written.
 * - `host`: the page must act, as `action` says: there is no `provide`, or nobody is signed in. If the stored set belongs to another
 *   user, load the page again.
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
  | 'host';

/** What a session will do next, when, and why not earlier. */
export interface NextStep {
  /** Local epoch ms; absent if no instant is known. */
  readonly at?: number | undefined;
  /** `setTokens` and `signIn` are calls that the session waits for. */
  readonly action: 'refresh' | 'provide' | 'expire' | 'setTokens' | 'signIn';
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
  /**
   * Incremented whenever the user may have changed: by a supplied set, a logout, an opt-out, a withdrawal of consent. A key for caches
   * outside the session.
   */
  readonly generation: number;
  /** Where the record is kept: `indexeddb`, `memory`, or the `kind` of the given store (`custom` if it has none). */
  readonly persistence: string;
  /** What the session is waiting for before it can return a token. */
  readonly waitingFor?: 'consent' | 'storage' | 'provide' | 'refresh' | undefined;
  /** The last failure; absent once there is another set, or the user has logged out. */
  readonly lastError?: TokenError | undefined;
  /** The service's clock minus the device's clock, ms, if the device's clock is known to be off. */
  readonly clockOffsetMs?: number | undefined;
  /** What the session will do next, when, and why. Absent after `close()`. */
  readonly next?: NextStep | undefined;
}
