/** The events of a session: what has changed since listeners were last notified. */

import type { TokenError } from '../../token/errors.ts';
import type { Decision } from './decide.ts';
import type { Cause, Emitted, PageState } from './page-state.ts';
import type { NeedReason } from './retry.ts';

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

export type SessionEvent = { [E in EventName]: readonly [event: E, payload: SessionEvents[E]] }[EventName];

/** The events to emit, in their order, and what listeners have been notified of after them. */
export function eventsFor(
  { emitted: before, cause, canProvide, provideResult }: PageState,
  { record: { set, ended, optedOut }, token, need }: Decision,
): { readonly events: readonly SessionEvent[]; readonly emitted: Emitted } {
  const events: SessionEvent[] = [];
  const isNeedReported = !!need && !before.need && (!canProvide || !!provideResult);
  if (isNeedReported) events.push(['needsTokens', { reason: need }]);
  if (optedOut && !before.optedOut) events.push(['optout', {}]);
  if (ended && !before.ended) events.push(['expired', { token: 'refresh' }]);
  if (set && token && token !== before.token)
    events.push(['token', { advertisingToken: token, expiresAt: set.expiresAt, refreshAt: set.refreshAt, cause }]);
  if (set && !optedOut && !token && before.token) events.push(['expired', { token: 'advertising' }]);
  return { events, emitted: { token, optedOut, ended, need: before.need || isNeedReported } };
}
