/**
 * The entries of a timeline, which one tab records. They contain instants, words of closed lists and error codes, but never a
 * token, a key, a message or an address, so they may be shown, copied and sent to the inspectors of other tabs.
 *
 * All instants are local epoch ms of the tab that recorded them.
 */

import type { Cause, NextReason, NextStep, Phase } from '../../session/index.ts';

/** A token set, from the moment at which the tab had it. */
export interface Generation {
  readonly kind: 'generation';
  readonly id: number;
  readonly at: number;
  /** When it was replaced or erased. */
  readonly until?: number | undefined;
  readonly refreshAt: number;
  readonly expiresAt: number;
  readonly endsAt: number;
  /** When the service said that the refresh token has ended. */
  readonly endedAt?: number | undefined;
  /** The same in all tabs that hold the set. */
  readonly key: string;
  readonly cause?: Cause | undefined;
  /** No set preceded it. */
  readonly isFirst: boolean;
}

/** A refresh or a call of `provide`. */
export interface Attempt {
  readonly kind: 'attempt';
  readonly id: number;
  readonly at: number;
  readonly until?: number | undefined;
  readonly action: NextStep['action'];
  readonly outcome?: Outcome | undefined;
  /** Error code and HTTP status, if it failed. */
  readonly failure?: string | undefined;
}

export type Outcome = 'token' | 'opt_out' | 'ended' | 'nobody' | 'other_tab' | 'failed' | 'signed_out' | 'unchanged';

/** A period in which the session waited, from `state.next`. */
export interface Wait {
  readonly kind: 'wait';
  readonly id: number;
  readonly at: number;
  readonly until?: number | undefined;
  /** When the wait is planned to end. */
  readonly plannedAt?: number | undefined;
  readonly action: NextStep['action'];
  readonly reason: NextReason;
}

/** From the first failure of the network or service to the next answer. */
export interface Outage {
  readonly kind: 'outage';
  readonly id: number;
  readonly at: number;
  readonly until?: number | undefined;
  readonly failure: string;
}

/** Something that happened at an instant. */
export interface Mark {
  readonly kind: 'mark';
  readonly id: number;
  readonly at: number;
  readonly name: MarkName;
  readonly detail: string;
}

export type MarkName =
  | 'sign_in'
  | 'new_set'
  | 'sign_out'
  | 'opt_out'
  | 'needs_tokens'
  | 'expired'
  | 'storage'
  | 'clock'
  | 'webview';

export type Entry = Generation | Attempt | Wait | Outage | Mark;

/** What one tab shows. */
export interface Lane {
  /** A random name of the tab. */
  readonly tab: string;
  /** What the page calls the tab; empty if it has not named it. */
  readonly label: string;
  readonly phase: Phase;
  readonly persistence: string;
  readonly clockOffsetMs: number;
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

export const OUTCOMES: Readonly<Record<Outcome, string>> = {
  token: 'a new token',
  opt_out: 'the user has opted out',
  ended: 'the refresh token has ended',
  nobody: 'nobody is signed in',
  other_tab: 'left to another tab',
  failed: 'failed',
  signed_out: 'signed out meanwhile',
  unchanged: 'nothing new',
};

export const MARKS: Readonly<Record<MarkName, string>> = {
  sign_in: 'Sign-in',
  new_set: 'New set',
  sign_out: 'Sign-out',
  opt_out: 'Opt-out',
  needs_tokens: 'A new set is needed',
  expired: 'Expired',
  storage: 'Storage',
  clock: 'Clock offset',
  webview: 'Message',
};
