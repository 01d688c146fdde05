/**
 * What listeners should hear: the difference between what they were told last and what is so now. Pure.
 */

import type { Held } from '../token/phase.ts';
import { tokenAt } from '../token/phase.ts';
import type { Cause, EventName, SessionEvents } from './events.ts';

/** What listeners know. */
export interface Told extends Held {
  readonly token?: string | undefined;
}

/**
 * Compare, and tell the difference.
 *
 * @param before  what listeners know.
 * @param held    what is so at `t` (service time, epoch ms).
 * @param cause   of a token that is new.
 * @param emit    told each event, in order.
 * @returns       what listeners know from now on.
 */
export function tellNews(
  before: Told,
  held: Held,
  t: number,
  cause: Cause,
  emit: <E extends EventName>(event: E, payload: SessionEvents[E]) => void,
): Told {
  const { set, ended, optedOut } = held;
  let token = tokenAt(held, t);
  if (optedOut && !before.optedOut) emit('optout', {});
  if (ended && !before.ended) emit('expired', { token: 'refresh' });
  if (set && token && token !== before.token) {
    const { advertisingToken, expiresAt, refreshAt } = set;
    emit('token', { advertisingToken, expiresAt, refreshAt, cause });
  } else if (!optedOut && !token && before.token && before.token === set?.advertisingToken) {
    // Past the refresh token's end by the local clock alone: the service has the last word, nothing is told yet.
    if (ended || t < set.endsAt) emit('expired', { token: 'advertising' });
    else token = before.token;
  }
  return { ...held, token };
}
