/** What a timeline consists of: instants, words of closed lists and error codes, but never a token, a key, a message or an address. */

import type { Cause } from '../../session/index.ts';

/** All instants are local epoch ms of the tab that recorded them. */
export interface Entry {
  /** A `note` is only in the list and in the report. */
  readonly kind: 'token' | 'attempt' | 'wait' | 'event' | 'note';
  readonly at: number;
  /** Absent while it lasts. */
  readonly until?: number | undefined;
  readonly text: string;
  /** In the figure; `text` is in the list and in the report. */
  readonly label?: string | undefined;
  /** How an attempt ended; `none`: without an answer for this tab. */
  readonly result?: 'answered' | 'failed' | 'none' | undefined;
  /** When a wait is planned to end. */
  readonly plannedAt?: number | undefined;
  readonly refreshAt?: number | undefined;
  readonly expiresAt?: number | undefined;
  readonly endsAt?: number | undefined;
}

export interface Lane {
  readonly tab: string;
  /** Empty if the page has not named the tab. */
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
