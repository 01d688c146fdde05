/**
 * The state of one drop-in: idle until `init`, reading until the session's record is known, ready, closed by `abort`; and
 * what can be told of it. Nothing here changes the state.
 */

import type { Session } from '../../session/index.ts';
import { toWire } from '../../token/token-set.ts';
import type { Callbacks } from './callbacks.ts';
import type { Places } from './places.ts';
import { decide, type Evidence, type Mark } from './precedence.ts';
import type { RecordStore } from './record.ts';
import { type Known, knownFromIdentity, knownFromSession } from './status.ts';
import type { Identity, InitOptions, Product } from './types.ts';

/** `init` has been called; what the session has stored is not known yet. */
export interface Reading {
  readonly name: 'reading';
  readonly session: Session;
  readonly records: RecordStore;
  /** What is held back until the record is known. */
  evidence: Omit<Evidence, 'record'>;
  candidate: Identity | undefined;
  readonly mark: Mark | undefined;
  /** The page has supplied a malformed identity. */
  readonly isInvalid: boolean;
}

export interface Ready {
  readonly name: 'ready';
  readonly session: Session;
  readonly records: RecordStore;
}

export type State = { readonly name: 'idle' } | Reading | Ready | { readonly name: 'closed' };

/** Everything that one drop-in holds. */
export interface DropIn {
  readonly product: Product;
  readonly places: Places;
  readonly callbacks: Callbacks;
  options: InitOptions;
  state: State;
  /** What callbacks know; undefined until `InitCompleted` has been emitted. */
  told: Known | undefined;
  /** Refresh tokens that were considered: a cookie that cannot be erased is not adopted twice. */
  readonly considered: Set<unknown>;
  /** Resolve `started`. */
  start(): void;
  /** The session has read its record, or `abort` was called. */
  readonly started: Promise<void>;
}

/** Tell whether there is no session. */
export function isIdle(state: State): state is Exclude<State, Reading | Ready> {
  return state.name === 'idle' || state.name === 'closed';
}

/** Describe what the page may know now. */
export function knownNow({ state }: DropIn): Known {
  if (isIdle(state)) return { condition: 'none', token: undefined };
  const now = Date.now();
  const { session } = state;
  if (state.name === 'reading' && (state.mark || session.advertisingToken === undefined))
    return knownFromIdentity(state.candidate, state.mark === 'optout', now);
  const token = session.advertisingToken;
  return knownFromSession(session.state.phase, token, session.state.endsAt, now);
}

/** Return the whole identity whose token is in force, or null. */
export function identityOf(dropIn: DropIn): Identity | null {
  const { state, options, places } = dropIn;
  if (isIdle(state)) {
    // Before `init`: what the former SDK or an earlier page has left.
    const found = places.read();
    const isCookieMode = (options.useCookie ?? places.readOptions()?.useCookie) === true;
    const { candidate } = decide({ found, isCookieMode });
    return knownFromIdentity(candidate, false, Date.now()).token ? candidate! : null;
  }
  const { token } = knownNow(dropIn);
  if (token === undefined) return null;
  if (state.name === 'reading' && state.candidate?.['advertising_token'] === token) return state.candidate;
  const set = state.records.view()?.set;
  return set?.advertisingToken === token ? toWire(set) : { advertising_token: token };
}
