/**
 * What a host stores, what it asks of its surroundings, and what a page may tell it. hosts/android and hosts/ios have the same
 * machine; hosts/contract/cases.txt describes all three.
 */

import type { Phase, PhaseWithUser } from '../token/phase.ts';
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

export interface Outcome {
  /** `ended`: the service has ended the set. `refused`: it has not understood the request. `failed`: it may answer later. */
  readonly kind: 'success' | 'optout' | 'ended' | 'refused' | 'failed';
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
  read(): void;
  write(id: number, text: string): void;
  refresh(id: number, set: TokenSet): void;
  cancel(id: number): void;
  send(view: number, text: string): void;
  /** All changes up to this number are stored, or, with an error, are not. */
  settled(change: number, error: string | undefined): void;
  /** The host is closed, and no write is running: another host may have the storage. */
  released(): void;
  token(advertisingToken: string | undefined): void;
  needsTokens(request: number): void;
  log(line: string): void;
}

/** The pause after a failure, ms: from 5 s to 5 minutes. */
export function pauseOf(failures: number): number {
  return Math.min(5_000 * 2 ** failures, 300_000);
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

/** Who a page says is signed in if it has no token. A newer page may have a phase that this host does not know. */
export function userWithoutToken(phase: Phase | undefined): State['user'] {
  if (phase === 'optedOut') return phase;
  phase satisfies PhaseWithUser | 'empty' | undefined;
  return 'signedOut';
}

export function toldOf(owner: 'app' | 'page', { user, set, told }: State): Told | undefined {
  if (user === 'optedOut') return undefined;
  return owner === 'app' && set ? { token: set.advertisingToken, expiresAt: set.expiresAt } : told;
}

export function writeState({ gen, user, set, told }: State): string {
  return JSON.stringify({ gen, user, set: set && toWire(set), told });
}

/** The app may bring the set that it has brought before. */
export function isSameSet(one: TokenSet | undefined, other: TokenSet | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

export function isGen(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** As of a set: an instant beyond the year 9999 is no expiry, epoch ms. */
const LATEST = 1e15;

/** Undefined if there is none; null if it is nonsense. */
export function parseTold(token: unknown, expiresAt: unknown): Told | undefined | null {
  if (token === undefined || token === null) return undefined;
  const isValid = typeof token === 'string' && token !== '' && Math.abs(expiresAt as number) < LATEST;
  return isValid && typeof expiresAt === 'number' ? { token, expiresAt } : null;
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
