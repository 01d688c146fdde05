/**
 * What a timeline consists of. An entry contains instants, words of closed lists and error codes, but never a token, a key, a
 * message or an address, so it may be shown, copied and sent to the inspectors of other tabs.
 */

import type { Cause, NextReason } from '../../session/index.ts';

/** All instants are local epoch ms of the tab that recorded them. */
export interface Entry {
  /** A `note` is only in the list and in the report. */
  readonly kind: 'token' | 'attempt' | 'wait' | 'event' | 'note';
  readonly at: number;
  /** When it ended; absent while it lasts. */
  readonly until?: number | undefined;
  /** The sentence in the list and in the report. */
  readonly text: string;
  /** The short form in the figure. */
  readonly label?: string | undefined;
  /** How an attempt ended; `none`: without an answer for this tab. */
  readonly result?: 'answered' | 'failed' | 'none' | undefined;
  /** When a wait is planned to end. */
  readonly plannedAt?: number | undefined;
  /** The instants of a token. */
  readonly refreshAt?: number | undefined;
  readonly expiresAt?: number | undefined;
  readonly endsAt?: number | undefined;
}

/** What one tab shows. */
export interface Lane {
  /** A random name of the tab. */
  readonly tab: string;
  /** What the page calls the tab; empty if it has not named it. */
  readonly label: string;
  /** `phase fresh, stored in indexeddb` */
  readonly status: string;
  readonly entries: readonly Entry[];
}

export const CAUSES: Readonly<Record<Cause, string>> = {
  set: 'set by the page',
  provide: "from the publisher's server",
  refresh: 'refreshed here',
  tab: 'from another tab',
  load: 'from storage',
};

export const REASONS: Readonly<Record<NextReason, string>> = {
  refresh_from: 'the token is fresh until then',
  expires: 'no refresh is planned',
  in_progress: 'in progress',
  other_tab: 'another tab is refreshing',
  back_off: 'back-off after a failure',
  retry_after: 'the service asked for a pause',
  refused: 'the service refused the set',
  woken: 'the page woke up',
  hidden: 'the page is hidden',
  consent: 'consent is not given',
  storage: 'the stored record is read or written',
  host: 'the page must call it',
};
