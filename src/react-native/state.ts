/**
 * What a host stores, what it asks of its surroundings, and what a page may tell it. `machine.ts` has the rules.
 *
 * hosts/android and hosts/ios have the same machine; hosts/contract/cases.txt describes all three.
 */

import { parseTokenSet, type TokenSet, toWire } from '../token/token-set.ts';

const USERS = ['unknown', 'signedIn', 'signedOut', 'optedOut'] as const;

/** An advertising token and its expiry, epoch ms. */
export interface Told {
  readonly token: string;
  readonly expiresAt: number;
}

export interface State {
  /** The number of sign-ins and logouts. */
  readonly gen: number;
  /** `unknown`: nobody has signed in or out yet. */
  readonly user: (typeof USERS)[number];
  /** What the app was given or has refreshed. After an opt-out: a set that the service has yet to accept or refuse. */
  readonly set?: TokenSet | undefined;
  /** The last token that the app or a page has had. */
  readonly told?: Told | undefined;
}

/** How a refresh has ended. */
export interface Outcome {
  /** `ended`: the service has ended the set. `refused`: it has not understood the request. `failed`: it may answer later. */
  readonly kind: 'success' | 'optout' | 'ended' | 'refused' | 'failed';
  /** For the log. */
  readonly why: string;
  readonly set?: TokenSet | undefined;
  /** The service's clock, epoch ms. */
  readonly date?: number | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** What the machine has done around it. The results arrive in its methods, with the number that was passed here. */
export interface Effects {
  /** Epoch ms. */
  wall(): number;
  /** Ms since any instant; nobody can set this clock. */
  uptime(): number;
  /** Replace the timer that calls `wake`; undefined: none. */
  wakeIn(ms: number | undefined): void;
  read(id: number): void;
  write(id: number, text: string): void;
  refresh(id: number, set: TokenSet): void;
  cancel(id: number): void;
  /** Send a message to the page in a view. */
  send(view: number, text: string): void;
  /** All changes up to this number are stored, or, with an error, are not. */
  settled(change: number, error: string | undefined): void;
  token(advertisingToken: string | undefined): void;
  needsTokens(request: number): void;
  log(line: string): void;
}

/** The greater of the wall clock and the uptime since the start: it never runs back, and runs on during sleep. */
export function clockOf({ wall, uptime }: Effects): () => number {
  let [clockMs, lastMs] = [0, uptime()];
  return () => {
    const uptimeMs = uptime();
    clockMs = Math.max(wall(), clockMs + uptimeMs - lastMs);
    lastMs = uptimeMs;
    return clockMs;
  };
}

export function writeState({ gen, user, set, told }: State): string {
  return JSON.stringify({ gen, user, set: set && toWire(set), told });
}

export function isGen(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Undefined if there is none; null if it is nonsense. */
export function parseTold(token: unknown, expiresAt: unknown): Told | undefined | null {
  if (token === undefined || token === null) return undefined;
  const isValid = typeof token === 'string' && token !== '' && Number.isFinite(expiresAt);
  return isValid ? { token, expiresAt: expiresAt as number } : null;
}

/** Read what `writeState` has written. Anything else is no state. */
export function readState(text: string | null): State {
  try {
    const { gen, user, set, told } = JSON.parse(text ?? '') as State;
    const last = parseTold(told?.token, told?.expiresAt);
    if (isGen(gen) && USERS.includes(user) && last !== null)
      return { gen, user, set: set && parseTokenSet(set), told: last };
  } catch {}
  return { gen: 0, user: 'unknown' };
}
