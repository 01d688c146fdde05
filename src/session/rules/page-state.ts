/** What only this page knows of a session, and what of it changes with the record. */

import { ownMembers } from '../../token/checks.ts';
import { TokenError } from '../../token/errors.ts';
import { isSameSet, type SessionRecord } from './record.ts';
import type { Plan } from './retry.ts';

/** Where the current token came from: the host, `provide`, a refresh on this page, another tab, or storage. */
export type Cause = 'set' | 'provide' | 'refresh' | 'tab' | 'load';

export interface Attempt {
  /** Of its lease. */
  readonly id: number;
  readonly plan: Plan;
  /** Of the record at its start: another one makes the attempt void, unless the record has its lease. */
  readonly generation: number;
  readonly startedAt: number;
}

/** What only this page knows. */
export interface PageState {
  /** Options that decide what a session may do. */
  readonly canProvide: boolean;
  readonly canRefresh: boolean;
  /** The user for whom this page was rendered, or who has signed in on it, hashed. */
  user: string | undefined;
  /** Undefined: the gate has not answered. */
  consent?: boolean | undefined;
  isClosed: boolean;
  /** The page is frozen, or in the back/forward cache. */
  isAway: boolean;
  /** When the page was hidden; 0 if it is visible and has woken up. */
  hiddenAt: number;
  /** Calls of `getToken` and `signIn` that wait for a token. */
  callers: number;
  attempt?: Attempt | undefined;
  /**
   * `nobody`: `provide` is not called, because nobody is signed in (it said so, or the user has logged out), or the service has
   * refused the set that was held back after an opt-out. `failed`: its last call failed.
   */
  provideResult?: 'nobody' | 'failed' | undefined;
  /** The id of a lease of another tab that has stopped an attempt of this page: the page waits while that tab has it. */
  otherLeaseId?: number | undefined;
  /** Where the current set came from, for the next `token` event. */
  cause: Cause;
  /** The last failure; absent once the record has another set, or none. */
  lastError?: TokenError | undefined;
  emitted: Emitted;
}

/** What listeners were last notified of. */
export interface Emitted {
  readonly token?: string | undefined;
  readonly optedOut?: boolean | undefined;
  readonly ended?: boolean | undefined;
  /** `needsTokens` has been emitted for the current need, or must not be, because the user has logged out. */
  readonly need?: boolean | undefined;
}

export const NOTHING_EMITTED: Emitted = ownMembers({});

export interface View {
  readonly record: SessionRecord;
  /** The page has read it since it was last away, and no change of the host is on its way to the store. */
  readonly isSettled: boolean;
  /** The store has not answered yet: it may have another record. */
  readonly isLate?: boolean;
  readonly kind: string;
}

/**
 * Another set satisfies the need, and ends the series of failures.
 *
 * @param isFirst  the page did not know what is stored: it finds an existing state, unless the host has changed it since.
 */
export function pageStateAfter(
  { emitted }: PageState,
  before: SessionRecord,
  after: SessionRecord,
  cause: Cause,
  isFirst: boolean,
): Partial<PageState> {
  if (isSameSet(before, after)) return {};
  const hasNoSet = !after.set;
  if (isFirst && hasNoSet && !before.set && cause !== 'set') return { cause };
  // The service has refused the set that was held back behind a tombstone: only the page can supply another. If another tab sent
  // it, the generation is unchanged; a logout there would have incremented it.
  const wasHeldBack = before.optedOut && before.set && after.optedOut;
  const isRefused = hasNoSet && wasHeldBack && (cause === 'refresh' || after.generation === before.generation);
  // The service reports an opt-out: another user may be signed in, whose set `provide` can return.
  const isOptOut = after.optedOut && !before.optedOut && cause !== 'provide';
  // After a logout, nobody is asked for a set, unless the page has since named the user who signed in. An erased store counts as a
  // logout.
  const isCleared = after.changedAt > 0 || after.generation < before.generation;
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
