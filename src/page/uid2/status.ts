/**
 * What pages are told: the condition of the identity, the legacy statuses that name it, and the events between two
 * conditions. Pure.
 */

import type { Phase } from '../../session/index.ts';
import type { EventType, Identity } from './types.ts';

/** The statuses of the legacy callback. */
export const LEGACY_STATUS = {
  established: 0,
  refreshed: 1,
  expired: 100,
  noIdentity: -1,
  invalid: -2,
  refreshExpired: -3,
  optedOut: -4,
} as const;

export type LegacyStatus = (typeof LEGACY_STATUS)[keyof typeof LEGACY_STATUS];

const TEXTS: Record<LegacyStatus, string> = {
  0: 'Identity established',
  1: 'Identity refreshed',
  100: 'Identity expired, refresh still valid',
  '-1': 'Identity not available',
  '-2': 'Identity is not valid',
  '-3': 'Identity expired, refresh expired',
  '-4': 'User has opted out',
};

/** Return the text of a status. */
export function textOf(status: LegacyStatus): string {
  return TEXTS[status];
}

/**
 * - `none`: no identity.
 * - `inForce`: a token may be given out, and can be refreshed.
 * - `expired`: the token has expired, a refresh may bring another.
 * - `ended`: the refresh token is at its end; a token that is still good lives out its time.
 * - `optedOut`: the user has opted out.
 */
export type Condition = 'none' | 'inForce' | 'expired' | 'ended' | 'optedOut';

/** What a page may know at an instant. */
export interface Known {
  readonly condition: Condition;
  readonly token: string | undefined;
}

/** Describe a session. Instants are epoch ms. */
export function knownFromSession(
  phase: Phase,
  token: string | undefined,
  endsAt: number | undefined,
  now: number,
): Known {
  if (phase === 'optedOut') return { condition: 'optedOut', token: undefined };
  if (phase === 'empty') return { condition: 'none', token: undefined };
  if (phase === 'ended' || Number(endsAt) <= now) return { condition: 'ended', token };
  return { condition: token === undefined ? 'expired' : 'inForce', token };
}

/** Describe an identity in its wire form, before the session knows it. */
export function knownFromIdentity(identity: Identity | undefined, isOptedOut: boolean, now: number): Known {
  if (isOptedOut) return { condition: 'optedOut', token: undefined };
  if (!identity) return { condition: 'none', token: undefined };
  const token = Number(identity['identity_expires']) > now ? (identity['advertising_token'] as string) : undefined;
  if (token === undefined && !(Number(identity['refresh_expires']) > now)) return { condition: 'ended', token };
  return { condition: token === undefined ? 'expired' : 'inForce', token };
}

/** Tell whether there is an identity that is in force or can be refreshed. */
export function isAvailable({ condition }: Known): boolean {
  return condition === 'inForce' || condition === 'expired';
}

/** Tell whether only a new identity can bring a token. After an opt-out a login is not asked for. */
export function needsLogin({ condition }: Known): boolean {
  return condition === 'none' || condition === 'ended';
}

export function isSameKnown(one: Known | undefined, other: Known): boolean {
  return one?.condition === other.condition && one.token === other.token;
}

/** List the events between two moments. `before` is undefined until `InitCompleted` has been emitted. */
export function eventsBetween(before: Known | undefined, after: Known): EventType[] {
  if (isSameKnown(before, after)) return [];
  const isOptOut = after.condition === 'optedOut' && before?.condition !== 'optedOut';
  const events: EventType[] = before ? [] : ['InitCompleted'];
  if (isOptOut) events.push('OptoutReceived');
  if (before) events.push('IdentityUpdated');
  return events;
}

/** Return the legacy status for a change. */
export function statusBetween(before: Known | undefined, after: Known): LegacyStatus {
  if (after.condition === 'optedOut') return LEGACY_STATUS.optedOut;
  if (after.condition === 'ended') return LEGACY_STATUS.refreshExpired;
  if (after.condition === 'expired') return LEGACY_STATUS.expired;
  if (after.condition === 'none') return LEGACY_STATUS.noIdentity;
  return before?.token ? LEGACY_STATUS.refreshed : LEGACY_STATUS.established;
}
