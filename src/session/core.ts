/** The inside of a session: what all its parts share, what it shows, and what it reports. */

import { TokenError } from '../token/errors.ts';
import type { AttemptContext } from './attempt/attempt.ts';
import type { createEvents } from './events.ts';
import { explain } from './explain/entry.ts';
import { type Decision, decide, whyNoToken } from './rules/decide.ts';
import type { Attempt, PageState } from './rules/page-state.ts';
import type { SessionState } from './rules/state.ts';

export interface Core extends PageState, AttemptContext {
  readonly events: ReturnType<typeof createEvents>;
  setTimer(instant: number): void;
  unwatch(): void;
  log(what: unknown): void;
  /** What `state` returns; absent before the first decision. */
  state?: SessionState;
  attempt?: (Attempt & { readonly controller: AbortController }) | undefined;
  /** Host calls that wait for the first consent, in order. */
  readonly waiting: ((error?: TokenError) => void)[];
  /** What all calls of `getToken` that found no token wait for. */
  tokenWait?: Promise<string> | undefined;
  /** Resolves when the last attempt has ended. */
  lastAttempt: Promise<void>;
}

export function decideNow(core: Core, isExplicit?: boolean): Decision {
  return decide(core.shown.view, core, core.now(), isExplicit);
}

/** Show the state if anything in it has changed. A change of the token always changes the state, too. */
export function publish(core: Core): Decision {
  const decision = decideNow(core);
  const { state } = decision;
  const before = core.state;
  const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
  if (before && state.lastError === before.lastError && isSame(state, before)) return decision;
  // Before the log, because a logger may read the state, which would be published and logged again.
  core.state = Object.freeze(state);
  Object.freeze(state.next);
  if (!isSame(state.next, before?.next)) core.log(state.next);
  core.events.emit('state');
  return decision;
}

export function noToken(core: Core): TokenError {
  const decision = decideNow(core);
  const why = whyNoToken(decision, core);
  return typeof why === 'string' ? new TokenError(why, explain?.noTokenReason(why, decision, core)) : why;
}

/** `isEmitted`: false for a failure that rejects a call of the page, or that follows others of its series. */
export function reportError(core: Core, error: TokenError, isEmitted = true): void {
  if (core.isClosed) return;
  core.lastError = error;
  core.log(error);
  if (isEmitted) core.events.emit('error', error);
  if (explain) core.events.emit('failure', error);
}
