/** What the drop-in reports to pages: the condition of the identity, its legacy status and events. Pure. */

import type { Phase } from '../../session/index.ts';
import type { EventType } from './types.ts';

export const LEGACY = {
  established: [0, 'Identity established'],
  refreshed: [1, 'Identity refreshed'],
  expired: [100, 'Identity expired, refresh still valid'],
  empty: [-1, 'Identity not available'],
  invalid: [-2, 'Identity is not valid'],
  ended: [-3, 'Identity expired, refresh expired'],
  optedOut: [-4, 'User has opted out'],
} as const;

export type LegacyStatus = keyof typeof LEGACY;

/** `ended`: the refresh token is no longer accepted; a token that is still valid stays until it expires. */
export type Condition = Exclude<LegacyStatus, 'refreshed' | 'invalid'>;

export interface Known {
  readonly condition: Condition;
  readonly token?: string | undefined;
}

/** `token`: undefined if it has expired. `endsAt`: of the refresh token. `now`: by the clock of the service, as far as it is known. */
export function describe(phase: Phase, token: string | undefined, endsAt: number | undefined, now: number): Known {
  if (phase === 'empty' || phase === 'optedOut') return { condition: phase };
  if (phase === 'ended' || endsAt! <= now) return { condition: 'ended', token };
  phase satisfies 'fresh' | 'due' | 'stale';
  return { condition: token ? 'established' : 'expired', token };
}

/** Whether only a new identity can bring a token. After an opt-out no login is required. */
export function needsLogin({ condition }: Known): boolean {
  if (condition === 'empty' || condition === 'ended') return true;
  condition satisfies 'established' | 'expired' | 'optedOut';
  return false;
}

/** `before`: undefined until `InitCompleted` has been emitted. */
export function eventsBetween(before: Known | undefined, now: Known): EventType[] {
  const { condition, token } = now;
  const isSame = before?.condition === condition;
  const optOut: EventType[] = condition === 'optedOut' && !isSame ? ['OptoutReceived'] : [];
  if (!before) return ['InitCompleted', ...optOut];
  return isSame && before.token === token ? [] : [...optOut, 'IdentityUpdated'];
}

/** Only the first identity of a page, or after `disconnect`, is established. */
export function statusBetween(before: Known | undefined, { condition }: Known): LegacyStatus {
  return condition === 'established' && before ? 'refreshed' : condition;
}
