/**
 * Checks of values from outside: options, and fields of a token set. A check returns a sentence that says what is wrong, and its
 * caller chooses the error class. A sentence quotes a value only if that value cannot be a token, key, secret or DII.
 */

import { expectedGot, ignoreFailure } from './errors.ts';
import { nearest } from './nearest.ts';

/** The longest delay of `setTimeout`, ms (24.8 days). A timer with a longer delay fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export function throwIf(fault: string | false | undefined): void {
  if (fault) throw new TypeError(fault);
}

/**
 * Copy the own members of anything. A library on the page that parses a query into objects may let a link set members of
 * `Object.prototype`, which every object then inherits.
 */
export function ownMembers<T extends object>(given: T): T;
export function ownMembers<T extends object>(given: T | undefined): Partial<T>;
export function ownMembers(given: unknown): Readonly<Record<string, unknown>>;
export function ownMembers(given: unknown): unknown {
  return { __proto__: null, ...(given as object) };
}

/** Hides what `fetch` would read from `Object.prototype`, but keeps that prototype: a page's own `fetch` may call its methods. */
export function requestOptions(given: RequestInit): RequestInit {
  let hidden = {};
  for (const name in hidden) hidden = { ...hidden, [name]: undefined };
  return { ...hidden, ...given };
}

/** `null`, `array`, `empty string`, for a promise what to do about it, or what `typeof` returns. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === '') return 'empty string';
  if (typeof (value as Partial<PromiseLike<unknown>> | undefined)?.then === 'function') return 'a Promise: await it';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** `string` is not empty, `number` 0 or more, also `Infinity`, `positive` finite above 0, `object` no array, promise, null. */
export type TypeName = 'string' | 'number' | 'positive' | 'boolean' | 'function' | 'object' | 'array';

/** @example typeFault('tokens', 'object', null) // 'tokens: expected object, got null' */
export function typeFault(name: string, type: TypeName, value: unknown): string | undefined {
  const isPositive = type === 'positive';
  const expected = isPositive ? 'number' : type;
  const kind = kindOf(value);
  if (kind !== expected) return expectedGot(name, expected, kind);
  if (isPositive && !((value as number) > 0 && Number.isFinite(value)))
    return expectedGot(name, 'finite number above 0', value);
  if (type === 'number' && !((value as number) >= 0)) return expectedGot(name, 'number of 0 or more', value);
  return undefined;
}

/** Quotes a single word of letters, nothing else: `refresh: expected auto or off, got "never"`. */
export function choiceFault(name: string, choices: readonly string[], value: unknown): string | undefined {
  if (choices.some((choice) => choice === value)) return undefined;
  return expectedGot(name, choices.join(' or '), typeof value === 'string' && value ? wordOf(value) : kindOf(value));
}

function wordOf(text: string): string {
  return /^[a-z_-]{1,24}$/i.test(text) ? `"${text}"` : 'another string';
}

/** @example integerFault('tries', 1, 100, 0) // 'tries: expected a whole number from 1 to 100, got 0' */
export function integerFault(name: string, least: number, most: number, value: unknown): string | undefined {
  const isNumber = typeof value === 'number';
  if (isNumber && Number.isInteger(value) && value >= least && value <= most) return undefined;
  return expectedGot(name, `a whole number from ${least} to ${most}`, isNumber ? value : kindOf(value));
}

/** A misspelt option would otherwise be ignored. `path`: the prefix of the name in the sentence, for example `retry.`. */
export function nameFault(path: string, known: readonly string[], given: object): string | undefined {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return undefined;
  const near = nearest(unknown, known);
  const got = `an unknown name${near ? `; did you mean ${near}?` : ''}`;
  return expectedGot(path + unknown, `one of ${known.join(', ')}`, got);
}

/** `hostname`: as `URL.hostname` returns it, in lower case, an IPv4 address as four numbers, IPv6 in brackets. */
export function isLoopback(hostname: string): boolean {
  return /^(\[::1\]|(.+\.)?localhost|127(\.\d+){3})$/.test(hostname);
}

/**
 * Returns the address without a trailing slash; a path is kept. `allowInsecure`: `true` permits plain http to every host.
 *
 * @throws {TypeError}; {@link addressFault} says what was passed.
 */
export function parseBaseUrl(value: unknown, allowInsecure?: unknown): string {
  const url = urlOf(value);
  const address = url && isPermitted(url, allowInsecure) && url.origin + url.pathname;
  // A user, a password, a query or a fragment makes the difference.
  if (!address || address !== url.href) throw new TypeError('baseUrl: expected an absolute https URL');
  return address.replace(/\/+$/, '');
}

function urlOf(value: unknown): URL | undefined {
  return typeof value === 'string' ? ignoreFailure(() => new URL(value)) : undefined;
}

function isPermitted({ protocol, hostname }: URL, allowInsecure: unknown): boolean {
  return protocol === 'https:' || (protocol === 'http:' && (allowInsecure === true || isLoopback(hostname)));
}

/** No user, password, query, fragment or path is quoted. */
export function addressFault(value: unknown, allowInsecure?: unknown): string | undefined {
  const expected = 'an absolute https URL (http is accepted for localhost, or with allowInsecure: true)';
  const url = urlOf(value);
  const isSchemePermitted = !!url && isPermitted(url, allowInsecure);
  const got = typeof value === 'string' && value ? mistakeIn(value, url, isSchemePermitted) : kindOf(value);
  return got && expectedGot('baseUrl', expected, got);
}

/** The most common ones are the URL of an endpoint, and a host without a scheme. */
function mistakeIn(value: string, url: URL | undefined, isSchemePermitted: boolean): string | undefined {
  const [, version] = /\w(\/v[0-3])(?:\/(?:token|identity|optout|key)\b|\/*$)/.exec(value) ?? [];
  if (version) return `the URL of an endpoint: leave out ${version} and what follows`;
  const host = hostWithoutScheme(value);
  if (host) return host;
  if (!url) return 'a string that is not an absolute URL';
  if (url.username || url.password) return 'a URL with a user or password';
  if (/[?#]/.test(url.href)) return 'a URL with a query or fragment';
  return isSchemePermitted ? undefined : schemeOf(url);
}

/** The URL parser reads `localhost:` as a scheme. Another string with digits might be a key. */
function hostWithoutScheme(value: string): string | undefined {
  const found = /^(([a-z.-]{1,64}|\d{1,3}(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?)(?:\/[^@\s]*)?$/.exec(value);
  if (!found) return undefined;
  const [, quoted, host] = found as unknown as [string, string, string];
  return `"${quoted}" without a scheme${isLoopback(host) ? ': add http://' : ''}`;
}

/** Quote only known schemes: in `user:password@host`, the parser reads `user:` as the scheme. */
function schemeOf({ protocol }: URL): string {
  return /^(http|wss?|ftp|file):$/.test(protocol) ? `the scheme "${protocol}"` : 'another scheme';
}

/**
 * As `\u` and four hexadecimal digits: control characters, bidirectional controls and invisible characters hide or change text in
 * a terminal and forge lines in a log. In JSON the escaped form means the same. `kept`: for example `'\n\t'`.
 */
export function escapeControls(text: string, kept = ''): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (found) =>
    kept.includes(found)
      ? found
      : Array.from(
          { length: found.length },
          (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`,
        ).join(''),
  );
}
