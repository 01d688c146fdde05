/** The changes of a session's page state that the shell and the record store share. This file knows neither store nor network. */

import type { TokenError } from '../token/errors.ts';
import type { createClock } from './browser/clock.ts';
import type { createEvents } from './events.ts';
import { type PageState, pageClockSetBack } from './rules/page-state.ts';

/** The object that holds the page state. */
export interface PageOwner {
  page: PageState;
  readonly clock: ReturnType<typeof createClock>;
  readonly events: ReturnType<typeof createEvents>;
}

export function setPage(owner: PageOwner, change: Partial<PageState>): void {
  owner.page = { ...owner.page, ...change };
}

/** If the wall clock was set back, correct the instants of this page only. Returns the size of the step, ms. */
export function followClockOnPage(owner: PageOwner): number {
  const backMs = owner.clock.followStepBack();
  if (backMs) owner.page = pageClockSetBack(owner.page, backMs);
  return backMs;
}

/**
 * Report a failure: as `state.lastError`, to the logger, and by the event `error`.
 *
 * @param isEmitted  false to emit no event, because the first failure of this series was emitted.
 */
export function reportError(owner: PageOwner, error: TokenError, isEmitted = true): void {
  if (owner.page.isClosed) return;
  setPage(owner, { lastError: error });
  owner.events.log(error);
  if (isEmitted) owner.events.emit('error', error);
}
