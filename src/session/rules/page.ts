/**
 * What only this page knows, what it shows of the session, and what it announces: the events are the difference from what listeners
 * were last notified of. Types and pure functions.
 */

import { TokenError } from '../../token/errors.ts';
import type { Phase } from '../../token/phase.ts';
import { isSameSet, type SessionRecord, type WaitReason } from './record.ts';

/** Why a new set is needed: there is none, the refresh token has ended, or the service keeps refusing it. */
export type NeedReason = 'empty' | 'ended' | 'refused';

/** What the session attempts to get a token. */
export interface Plan {
  readonly kind: 'refresh' | 'provide';
  /** Why `provide` is called. */
  readonly need?: NeedReason | undefined;
  /** The page called `refresh()`: neither a pause nor earlier refusals delay it, except that the service asked for the pause. */
  readonly isExplicit: boolean;
}

/** Where the current token came from: the host, `provide`, a refresh on this page, another tab, or storage. */
export type Cause = 'set' | 'provide' | 'refresh' | 'tab' | 'load';

/** An attempt in progress. */
export interface Attempt {
  readonly plan: Plan;
  /** Of the record at its start: another one makes the attempt void. */
  readonly generation: number;
  readonly startedAt: number;
}

/** What only this page knows. */
export interface Page {
  /** Options that decide what a session may do. */
  readonly canProvide: boolean;
  readonly canRefresh: boolean;
  /** The user for whom this page was rendered, or who has signed in on it, hashed. */
  user: string | undefined;
  /** Undefined: the gate has not answered. */
  consent: boolean | undefined;
  isClosed: boolean;
  /** The page is frozen, or in the back/forward cache. */
  isAway: boolean;
  /** When the page was hidden; 0 if it is visible and has woken up. */
  hiddenAt: number;
  /** Calls of `getToken` that wait for a token. */
  callers: number;
  attempt: Attempt | undefined;
  /**
   * `nobody`: `provide` is not called, because nobody is signed in (it said so, or the user has logged out), or the service has
   * refused the set that was held back after an opt-out. `failed`: its last call failed.
   */
  provideResult: 'nobody' | 'failed' | undefined;
  /** The lease of another tab that has stopped an attempt of this page, by its id: the page waits as long as that tab has it. */
  otherLeaseId: number | undefined;
  /** Where the current set came from, for the next `token` event. */
  cause: Cause;
  /** The last failure; absent once the record has another set, or none. */
  lastError: TokenError | undefined;
  /** What listeners were last notified of. */
  emitted: Emitted;
}

/** What the page sees of the record. */
export interface View {
  readonly record: SessionRecord;
  /** The page has read it since it was last away, and no change of the host is on its way to the store. */
  readonly isSettled: boolean;
  /** Where the record is kept. */
  readonly kind: string;
}

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

/** What listeners were last notified of. */
export interface Emitted {
  readonly token?: string | undefined;
  readonly optedOut?: boolean | undefined;
  readonly ended?: boolean | undefined;
  /** `needsTokens` has been emitted for the current need, or must not be, because the user has logged out. */
  readonly need?: boolean | undefined;
}

/** What {@link changesBetween} compares: a part of the decision. */
interface Current {
  readonly record: SessionRecord;
  /** Service time. */
  readonly at: number;
  readonly token: string | undefined;
  readonly need: NeedReason | undefined;
}

/** The events for the difference between what listeners know and the current state, in the order in which they are emitted. */
export function changesBetween(
  before: Emitted,
  { cause, canProvide, canRefresh, provideResult }: Page,
  { record: { set, ended, optedOut }, at, token, need }: Current,
): { readonly events: readonly SessionEvent[]; readonly emitted: Emitted } {
  const events: SessionEvent[] = [];
  const isNeedReported = !!need && !before.need && (!canProvide || !!provideResult);
  if (isNeedReported) events.push(['needsTokens', { reason: need }]);
  if (optedOut && !before.optedOut) events.push(['optout', {}]);
  if (ended && !before.ended) events.push(['expired', { token: 'refresh' }]);
  if (set && token && token !== before.token) {
    const { advertisingToken, expiresAt, refreshAt } = set;
    events.push(['token', { advertisingToken, expiresAt, refreshAt, cause }]);
  }
  const isExpired = !optedOut && !token && !!before.token && !!set;
  // If only the local clock says that the refresh token has expired, the service must confirm it, if the page asks it.
  const isInDoubt = isExpired && canRefresh && !ended && at >= set.endsAt;
  if (isExpired && !isInDoubt) events.push(['expired', { token: 'advertising' }]);
  const known = isInDoubt ? before.token : token;
  return { events, emitted: { token: known, optedOut, ended, need: before.need || isNeedReported } };
}

/**
 * What changes for the page when the record that it has seen changes from `before` to `after`: another set satisfies the need and ends
 * the series of failures.
 *
 * @param isFirst  the page has read the store for the first time: it finds an existing state, unless the host has changed it since.
 */
export function recordChanged(
  { emitted }: Page,
  before: SessionRecord,
  after: SessionRecord,
  cause: Cause,
  isFirst: boolean,
): Partial<Page> {
  if (isSameSet(before, after)) return {};
  if (isFirst && cause !== 'set') return { cause };
  const hasNoSet = !after.set;
  // The service has refused the set that was held back behind a tombstone: only the page can supply another. If another tab sent
  // it, the generation is unchanged; a logout there would have incremented it.
  const wasHeldBack = before.optedOut && before.set && after.optedOut;
  const isRefused = hasNoSet && wasHeldBack && (cause === 'refresh' || after.generation === before.generation);
  // The service reports an opt-out: another user may be signed in, whose set `provide` can return.
  const isOptOut = after.optedOut && !before.optedOut && cause !== 'provide';
  // After a logout, nobody is asked for a set, because the page itself has logged the user out, unless it has since named the user who
  // signed in. An erased store counts as a logout.
  const isCleared = after.clearedAt > 0 || after.generation < before.generation;
  const isLogout = hasNoSet && !isRefused && !isOptOut && isCleared && !after.user;
  // Do not emit `needsTokens` twice for one user: a listener that signs the user in each time would be called endlessly.
  const isStillMissing = hasNoSet && !before.set && before.user === after.user;
  return {
    cause,
    lastError: isRefused ? new TokenError('opted_out') : undefined,
    provideResult: isRefused || isLogout ? 'nobody' : undefined,
    emitted: { ...emitted, need: isLogout || (isStillMissing && emitted.need) },
  };
}
