/**
 * The options of a session with every default filled in. Every build checks names, `baseUrl`, functions, `refresh` and the label of
 * a user; `explain/` checks the rest.
 */

import { ownMembers, parseBaseUrl, throwIf } from '../token/checks.ts';
import { explain } from './explain/entry.ts';
import type { SessionOptions, Settings } from './types.ts';

function refuse(option: string): never {
  throw new TypeError(`${option}: invalid option`);
}

/** @throws {TypeError} the message of the development build names the option, what was expected and what was passed. */
export function parseOptions(given: SessionOptions): Settings {
  explain?.checkOptions(given);
  const options = ownMembers<SessionOptions>(given);
  const {
    baseUrl,
    name = 'tessera',
    tokens,
    user,
    provide,
    consent,
    refresh = 'auto',
    fetch,
    store,
    now,
    timeoutMs = 10_000,
    retry,
    logger,
    debug,
    allowInsecure,
    ...others
  } = options;
  const { firstMs = 5_000, maxMs = 300_000 } = ownMembers<NonNullable<SessionOptions['retry']>>(retry);
  // Ignored, a misspelt option would start a session without consent, or with another user's set.
  Object.keys(others).forEach(refuse);
  if (refresh !== 'auto' && refresh !== 'off') refuse('refresh');
  // A `consent` of null or false must not count as "no gate".
  for (const [option, value] of Object.entries({ provide, consent, fetch, now }))
    if (value !== undefined && typeof value !== 'function') refuse(option);
  return Object.assign(options, {
    baseUrl: parseBaseUrl(baseUrl, allowInsecure),
    name,
    timeoutMs,
    firstMs,
    maxMs,
    // Chromium hides `console.debug` by default.
    logger: logger ?? (debug === true ? { debug: console.log } : undefined),
  });
}

/**
 * Hash the label of a user: FNV-1a with 64 bits, up to 13 letters and digits.
 *
 * Synchronous, because a page that is rendered for another user must not return the previous user's token meanwhile; Web Crypto is
 * asynchronous, and absent on plain-http pages. Two labels have the same hash only if somebody has searched for such a pair. As
 * with any hash without a secret, anyone who has a list of labels can find the one that matches.
 *
 * @param salt  operator and name of the session.
 * @example hashUser('account-1', 'https://operator.example tessera') // 'g50vw9lq6aqa'
 */
export function hashUser(user: string, salt: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const character of `${salt} ${user}`)
    hash = BigInt.asUintN(64, (hash ^ BigInt(character.codePointAt(0) as number)) * 0x100000001b3n);
  return hash.toString(36);
}

/** @throws {TypeError} for a label that is no string, or an empty one. */
export function userHashOf({ baseUrl, name }: Settings, label: unknown): string | undefined {
  if (label === undefined) return undefined;
  if (explain) throwIf(explain.labelFault(label));
  if (typeof label !== 'string' || !label) refuse('user');
  return hashUser(label, `${baseUrl} ${name}`);
}

/** Checked in every build: if a wrong argument were ignored, one user's set would be stored as another's. */
export function userOf(
  settings: Settings,
  given: { readonly user?: string | undefined } | undefined,
): string | undefined {
  if (typeof (given ?? {}) !== 'object') refuse('options');
  const { user, ...others } = ownMembers(given);
  Object.keys(others).forEach(refuse);
  return userHashOf(settings, user);
}
