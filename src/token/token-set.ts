/**
 * The token set and its parser: whatever a page, a server or a store supplies passes through here first. In `token/` and
 * `session/`, only this file knows the snake_case names.
 */

import { choiceFault, ownMembers, typeFault } from './checks.ts';
import { expectedGot, TokenError } from './errors.ts';

/** A parsed token set. Instants are epoch milliseconds by the clock of the service. */
export interface TokenSet {
  /** The token that advertisers receive: about 218 characters, opaque to the page. */
  readonly advertisingToken: string;
  /** The token that the service exchanges for a newer set: 388 characters, opaque, secret. */
  readonly refreshToken: string;
  /** The key that decrypts the answer to the refresh of this set: base64 of 32 bytes, secret. */
  readonly responseKeyB64: string;
  /** A refresh is due from this instant on. */
  readonly refreshAt: number;
  /** When the advertising token expires. */
  readonly expiresAt: number;
  /** When the refresh token expires. */
  readonly endsAt: number;
}

/** The content of a generate or refresh answer: a new set, or the fact that the user has opted out. */
export type Answer = TokenSet | 'optout';

/** The `body` of a generate or refresh answer, in epoch ms. A type, because no interface fits `Record<string, unknown>`. */
export type WireTokenSet = {
  readonly advertising_token: string;
  readonly refresh_token: string;
  readonly refresh_response_key: string;
  readonly refresh_from: number;
  readonly identity_expires: number;
  readonly refresh_expires: number;
};

/**
 * What a page passes to a session: a generate answer, as parsed JSON, its body alone, or an opt-out.
 *
 * @example const answer: TokenAnswer = await response.json();
 */
export type TokenAnswer =
  | { readonly status: 'success'; readonly body: WireTokenSet }
  | { readonly status: 'optout' }
  | WireTokenSet
  // No value has this type. With it, the compiler's error about a `Response` ends in what to do.
  | { readonly status: number; readonly json: 'pass the parsed JSON: await response.json()' };

const KEY_B64 = /^[A-Za-z\d+/]{43}=?$/;

const INSTANT = undefined;

type FieldRule = RegExp | typeof INSTANT;

/** `optional` stands where the field of {@link TokenSet} has a `?`. */
type FieldRow<Field extends keyof TokenSet> = readonly [
  wireName: keyof WireTokenSet,
  rule: TokenSet[Field] extends string | undefined ? RegExp : typeof INSTANT,
  ...optional: object extends Pick<TokenSet, Field> ? ['optional'] : [],
];

/** The wire name and the rule of each field. No instant is before the one above it. */
const FIELDS = {
  advertisingToken: ['advertising_token', /./s],
  refreshToken: ['refresh_token', /./s],
  responseKeyB64: ['refresh_response_key', KEY_B64],
  refreshAt: ['refresh_from', INSTANT],
  expiresAt: ['identity_expires', INSTANT],
  endsAt: ['refresh_expires', INSTANT],
} as const satisfies { readonly [Field in keyof TokenSet]-?: FieldRow<Field> };

type WireOfFields = { readonly [Field in keyof TokenSet as (typeof FIELDS)[Field][0]]: TokenSet[Field] };

/** Milliseconds from 1973 to beyond the year 9999. Seconds are below this range, microseconds above it. */
const EARLIEST = 1e11;
const LATEST = 1e15;

type FaultOf = (name: string, rule: FieldRule, value: unknown, earliest: number) => string;

/** `earliest` applies to an instant. */
function isValid(rule: FieldRule, value: unknown, earliest: number): boolean {
  if (rule) return typeof value === 'string' && rule.test(value);
  return typeof value === 'number' && value >= earliest && value <= LATEST;
}

function rows() {
  type Row = readonly [wireName: string, rule: FieldRule, optional?: 'optional'];
  return Object.entries<Row>(FIELDS) as [keyof TokenSet, Row][];
}

/**
 * @param isWire  the input has the names of {@link WireTokenSet}. Default: those of {@link TokenSet}, as in a stored record.
 * @param faultOf  describes an invalid field; a production page omits it.
 */
export function readTokenSet(input: unknown, isWire?: boolean, faultOf?: FaultOf): TokenSet {
  const members = ownMembers(input);
  const set: Record<string, unknown> = {};
  let earliest = EARLIEST;
  for (const [field, [wireName, rule, optional]] of rows()) {
    const name = isWire ? wireName : field;
    const value = members[name];
    if (optional && value === undefined) continue;
    if (!isValid(rule, value, earliest))
      throw new TokenError('invalid_token_set', faultOf?.(name, rule, value, earliest));
    if (!rule) earliest = value as number;
    set[field] = value;
  }
  return set as unknown as TokenSet;
}

function faultOfField(name: string, rule: FieldRule, value: unknown, earliest: number): string {
  if (!rule)
    return typeFault(name, 'number', value) ?? expectedGot(name, `epoch ms from ${earliest} to ${LATEST}`, value);
  const got = `${(value as string)?.length} characters`;
  return typeFault(name, 'string', value) ?? expectedGot(name, 'base64 of 32 bytes', got);
}

/**
 * Parse a token set.
 *
 * | wire name | own name | value |
 * |---|---|---|
 * | `advertising_token` | `advertisingToken` | string, not empty |
 * | `refresh_token` | `refreshToken` | string, not empty |
 * | `refresh_response_key` | `responseKeyB64` | base64 of 32 bytes: 43 characters, then `=` or nothing |
 * | `refresh_from` | `refreshAt` | epoch ms, 10^11 to 10^15 |
 * | `identity_expires` | `expiresAt` | epoch ms, not before `refresh_from` |
 * | `refresh_expires` | `endsAt` | epoch ms, not before `identity_expires` |
 *
 * @param input  the `body` of a generate or refresh answer; unknown members are ignored.
 * @throws {TokenError} `invalid_token_set`; the message names the field, what was expected and what was received.
 * @example const { advertisingToken, expiresAt } = parseTokenSet(answer.body);
 */
export function parseTokenSet(input: unknown): TokenSet {
  throwFault(typeFault('token set', 'object', input));
  return readTokenSet(input, true, faultOfField);
}

/**
 * Parse a {@link TokenSet} that was stored, for example as JSON, as {@link parseTokenSet}, but with the set's own names.
 *
 * @throws {TokenError} `invalid_token_set`; the message names the field, what was expected and what was received.
 * @example const tokens = parseStoredTokenSet(JSON.parse(text));
 */
export function parseStoredTokenSet(input: unknown): TokenSet {
  throwFault(typeFault('token set', 'object', input));
  return readTokenSet(input, undefined, faultOfField);
}

/**
 * Parse the answer that a publisher's server passes on, or the decrypted answer to a refresh.
 *
 * @param input  `{ status: 'success', body }`, the body alone, or `{ status: 'optout' }`.
 * @throws {TokenError} `invalid_token_set` for anything else, including any other status.
 * @example
 * const answer = parseAnswer(await response.json());
 * if (answer !== 'optout') use(answer.advertisingToken);
 */
export function parseAnswer(input: unknown): Answer {
  throwFault(unparsedFault(input));
  const { status, body } = ownMembers(input);
  if (!status) return parseTokenSet(input);
  throwFault(choiceFault('status', ['success', 'optout'], status));
  return status === 'optout' ? status : parseTokenSet(body);
}

/** {@link parseAnswer} without the messages, for production pages. */
export function parsePlainAnswer(input: unknown): Answer {
  const { status, body } = ownMembers(input);
  if (!status) return readTokenSet(input, true);
  return status === 'optout' ? status : readTokenSet(status === 'success' && body, true);
}

/** Describe input that is passed on before it is parsed as JSON, with the remedy. */
function unparsedFault(input: unknown): string | undefined {
  const { json } = Object(input) as Record<string, unknown>;
  const got =
    (typeof json === 'function' && 'a Response: use await response.json()') ||
    (typeof input === 'string' && input && 'a string: use JSON.parse, or response.json() for response.text()');
  return got ? expectedGot('token set', 'object', got) : undefined;
}

/** Convert a set to its wire form: `response.json({ status: 'success', body: toWire(tokens) })`. */
export function toWire(set: TokenSet): WireTokenSet {
  const wire: Record<string, unknown> = {};
  for (const [field, [wireName]] of rows()) wire[wireName] = set[field];
  // Does not compile if a member of `WireTokenSet` has no row in the table, or another type.
  return wire as Required<WireOfFields> satisfies Required<WireTokenSet>;
}

function throwFault(fault: string | undefined): void {
  if (fault) throw new TokenError('invalid_token_set', fault);
}
