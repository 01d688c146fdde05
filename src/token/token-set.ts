/**
 * The token set: the only place where its wire names (snake_case) are known, and the only way in.
 *
 * Everything a page, a server or a store hands over passes here before anything believes it.
 * Next: `phase.ts` says what a set means at an instant.
 */

import { typeFault } from './checks.ts';
import { expectedGot, TokenError } from './errors.ts';

/** A parsed token set. Instants are epoch milliseconds in the service's time. */
export interface TokenSet {
  /** What advertisers receive: about 218 characters, opaque to the page. */
  readonly advertisingToken: string;
  /** What the service takes for a newer set: 388 characters, opaque, secret. */
  readonly refreshToken: string;
  /** Key of the answer to the refresh of this very set: base64 of 32 bytes, secret. */
  readonly responseKeyB64: string;
  /** From when on a refresh is due. */
  readonly refreshAt: number;
  /** When the advertising token expires. */
  readonly expiresAt: number;
  /** When the refresh token expires. */
  readonly endsAt: number;
}

/** What a generate or refresh answer says: a new set, or that the user has opted out. */
export type Answer = TokenSet | 'optout';

// Milliseconds from 2001 to far beyond the year 9999. Seconds fall below, microseconds above.
const EARLIEST = 1e12;
const LATEST = 1e15;

// Wire names and ours. Instants, by the rule of our names those that end in `At`, stand in the order in which they come.
const FIELDS = Object.entries({
  advertising_token: 'advertisingToken',
  refresh_token: 'refreshToken',
  refresh_response_key: 'responseKeyB64',
  refresh_from: 'refreshAt',
  identity_expires: 'expiresAt',
  refresh_expires: 'endsAt',
} satisfies Record<string, keyof TokenSet>);

const KEY = /^[a-z\d+/]{43}=?$/i;

const throwIf = (fault: unknown) => {
  if (fault) throw new TokenError('invalid_token_set', fault as string);
};

/**
 * Parse a token set.
 *
 * @param input  the `body` of a generate or refresh answer; unknown members are ignored.
 * @param own    true: members have our names, as a store holds them.
 * @throws {TokenError} `invalid_token_set`, naming field, expected and got: six members, texts not empty, a key
 *   of 32 bytes, instants in milliseconds with refresh_from <= identity_expires <= refresh_expires.
 */
export function parseTokenSet(input: unknown, own?: boolean): TokenSet {
  throwIf(typeFault('token set', 'object', input));
  const set: Record<string, unknown> = {};
  let earliest = EARLIEST;
  for (const [wire, ours] of FIELDS) {
    const name = own ? ours : wire;
    const value = (input as typeof set)[name] as never;
    const instant = ours.endsWith('At');
    throwIf(typeFault(name, instant ? 'number' : 'string', value));
    if (instant) {
      const plausible = `epoch ms from ${earliest} on`;
      throwIf((value < earliest || value > LATEST) && expectedGot(name, plausible, value));
      earliest = value;
    } else if (ours === 'responseKeyB64')
      throwIf(!KEY.test(value) && expectedGot(name, 'base64 of 32 bytes', `${(value as string).length} characters`));
    set[ours] = value;
  }
  return set as unknown as TokenSet;
}

/**
 * Parse what a publisher's server passes on, or what a refresh answer opened to.
 *
 * @param input  `{ status: 'success', body }`, the body alone, or `{ status: 'optout' }`.
 * @throws {TokenError} `invalid_token_set` for anything else, also for any other status.
 */
export function parseAnswer(input: unknown): Answer {
  const { status, body } = Object(input) as { status?: unknown; body?: unknown };
  if (status === 'optout') return status;
  throwIf(status && status !== 'success' && expectedGot('status', 'success or optout', 'another'));
  return parseTokenSet(status ? body : input);
}

/** The wire form of a set: what {@link parseTokenSet} reads. */
export function toWire(set: TokenSet): Record<string, string | number> {
  return Object.fromEntries(FIELDS.map(([wire, ours]) => [wire, set[ours]]));
}
