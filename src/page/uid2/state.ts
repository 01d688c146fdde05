/** The state of one drop-in, and functions that read it. Nothing here changes the state. */

import type { Core } from '../../session/core.ts';
import type { Session } from '../../session/index.ts';
import { emptyRecord, type SessionRecord, serviceTime } from '../../session/rules/record.ts';
import { phaseOf, tokenAt } from '../../token/phase.ts';
import { type TokenSet, toWire } from '../../token/token-set.ts';
import type { Callbacks } from './callbacks.ts';
import type { Places } from './places.ts';
import { type Candidate, type Choice, candidatesIn, choose, isNews, withChoice } from './precedence.ts';
import { describe, type Known } from './status.ts';
import type { Callback, Identity, InitOptions, Product } from './types.ts';

export interface Started {
  readonly session: Session;
  readonly core: Core;
  /** The callbacks at `init`. As in the UID2 SDK, only they are told that there was no identity then. */
  readonly listeners: readonly Callback[];
  /** A malformed identity was supplied: report it with the next event. */
  isInvalid: boolean;
  /** `disconnect` was called: to the legacy callbacks, the next identity is a first one, as in the UID2 SDK. */
  isLoggedOut: boolean;
}

/** Undefined before `init`, null after `abort`. */
export type State = Started | undefined | null;

export interface DropIn {
  readonly product: Product;
  readonly places: Places;
  readonly callbacks: Callbacks;
  /** The options of `init`; before it, those that an earlier page has left. */
  options: InitOptions;
  state: State;
  hasInit: boolean;
  /** What the page has supplied and what the places held, until the record contains it; then what the record says. */
  candidates: readonly Candidate[];
  /** The state that callbacks know; undefined until `InitCompleted` has been emitted. */
  reported: Known | undefined;
  /** Refresh tokens that the session has received, so that a cookie that cannot be erased is not adopted twice. */
  readonly considered: Set<string>;
  /** Resolves once the session has read its record, or `abort` was called. */
  readonly firstRead: Promise<void>;
  endFirstRead(): void;
}

/** Whether the record is known and nothing is being written: the places may follow it. */
export function isSettled(state: State): state is Started {
  return !!state && state.session.state.next?.reason !== 'storage';
}

/** Whether this tab or another one is refreshing, or is about to, while the record is read or written. */
export function isRefreshing(state: State): boolean {
  return ['in_progress', 'other_tab', 'storage'].includes(`${state?.session.state.next?.reason}`);
}

/** The record as the session shows it, even while it may be out of date; empty before `init`. */
export function recordOf(state: State): SessionRecord {
  return state ? state.core.shown.latest() : emptyRecord('');
}

export function choiceNow(dropIn: DropIn): Choice {
  return choose([...dropIn.candidates, ...readCandidates(dropIn)]);
}

export function knownNow(dropIn: DropIn): Known & { readonly set: TokenSet | undefined } {
  const { state } = dropIn;
  const record = recordOf(state);
  const choice = choiceNow(dropIn);
  // The record counts once it is known and contains the newest copy: a supplied set has then been passed to the session.
  const expected = isSettled(state) && !isNews(record, choice.newest) ? record : withChoice(record, choice);
  const now = state ? state.core.now() : Date.now();
  const at = serviceTime(expected, now);
  const { set } = expected;
  return { ...describe(phaseOf(expected, at), tokenAt(expected, at), set?.endsAt, now + expected.offsetMs), set };
}

/** Null unless the token is valid. */
export function identityOf(dropIn: DropIn): Identity | null {
  const { token, set } = knownNow(dropIn);
  return token ? toWire(set!) : null;
}

export function readCandidates({ places, options }: DropIn): Candidate[] {
  return candidatesIn(places.read(), options.useCookie);
}
