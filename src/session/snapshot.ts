/** What a session shows of itself, and what it says where it has no token, put together from the record. Pure. */

import { type ErrorCode, TokenError } from '../token/errors.ts';
import type { Phase } from '../token/phase.ts';
import type { TokenSet } from '../token/token-set.ts';
import type { SessionState } from './contract.ts';
import type { SessionRecord } from './record.ts';

/** Put it together: the same members always, so that two of them compare as text. */
export function snapshotOf(
  { set, offsetMs }: SessionRecord,
  phase: Phase,
  persistence: string,
  waitingFor: SessionState['waitingFor'],
  lastError: TokenError | undefined,
): SessionState {
  const { refreshAt, expiresAt, endsAt }: Partial<TokenSet> = set ?? {};
  return {
    phase,
    refreshAt,
    expiresAt,
    endsAt,
    persistence,
    waitingFor,
    lastError,
    clockOffsetMs: offsetMs || undefined,
  };
}

/** Why there is no token: what stands before all else, what the record says, or the last failure. */
export function lackOf(
  { optedOut, ended }: SessionRecord,
  first: ErrorCode | false,
  lastError: TokenError | undefined,
): TokenError {
  const code = first || (optedOut && 'opted_out') || (ended && 'refresh_rejected');
  return (!code && lastError) || new TokenError(code || 'no_token');
}
