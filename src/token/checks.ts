/**
 * Checks of values that come from outside: options of a session, client or operator, and fields of a token set.
 *
 * Each check returns its finding as a sentence, so that the caller chooses the error class. A finding never quotes a
 * value that may be a token, key, secret or DII.
 */

import { expectedGot } from './errors.ts';

/** Longest delay that a timer accepts, ms (24 days); a longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Name the type of a value: `null`, `array`, `empty string`, else what `typeof` returns. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === '') return 'empty string';
  return Array.isArray(value) ? 'array' : typeof value;
}

/**
 * Check the type of a value.
 *
 * @param type  what `typeof` must return. A string must not be empty; a number must be finite and above 0.
 * @returns     undefined if the value fits, else a sentence that names `name`, the type expected and what came instead.
 */
export function typeFault(name: string, type: string, value: unknown): string | undefined {
  const isNumber = typeof value === 'number';
  if (isNumber && type === 'number' && !(value > 0 && value < Number.POSITIVE_INFINITY))
    return expectedGot(name, 'finite number above 0', value);
  const kind = kindOf(value);
  return kind === type ? undefined : expectedGot(name, type, kind);
}

/** Check that a value is one of `choices`; returns undefined, or a sentence. Only short words are quoted. */
export function choiceFault(name: string, choices: readonly string[], value: unknown): string | undefined {
  if (choices.includes(value as string)) return undefined;
  const isWord = /^[\w-]{1,24}$/.test(String(value));
  const got = typeof value === 'string' && value ? (isWord ? `"${value}"` : 'another string') : kindOf(value);
  return expectedGot(name, choices.join(' or '), got);
}

/** Check for a whole number from `least` to `most`; returns undefined, or a sentence. */
export function integerFault(name: string, least: number, most: number, value: unknown): string | undefined {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return undefined;
  const got = typeof value === 'number' ? value : kindOf(value);
  return expectedGot(name, `a whole number from ${least} to ${most}`, got);
}

/** Check that every member of an object is a known one; returns undefined, or a sentence that names the first other. */
export function nameFault(path: string, known: readonly string[], given: object): string | undefined {
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  return unknown === undefined
    ? undefined
    : expectedGot(path + unknown, `one of ${known.join(', ')}`, 'an unknown name');
}

/** Tell whether a URL's hostname names this machine: `localhost`, `*.localhost`, `127.0.0.0/8` or `[::1]`. */
export function isLoopback(hostname: string): boolean {
  return /^(.+\.)?localhost$|^127(\.\d+){3}$|^\[::1\]$/.test(hostname);
}

/**
 * Parse the address of an operator.
 *
 * @param allowInsecure  `true` allows plain http to every host; without it http is for this machine only.
 * @returns the address without slashes at its end; a path is kept.
 * @throws {TypeError} naming what was expected and what came; a user, password, query or fragment is never quoted.
 */
export function parseBaseUrl(value: unknown, allowInsecure?: unknown): string {
  const refuse = (got: string): never => {
    const expected = 'an absolute https URL (http is accepted for localhost, or with allowInsecure: true)';
    throw new TypeError(expectedGot('baseUrl', expected, got));
  };
  if (typeof value !== 'string' || !value) return refuse(kindOf(value));
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    // Lower case with a dot: an API key in the wrong place has capitals.
    const isHost = /^([a-z\d-]+\.)+[a-z]{2,24}$|^localhost$/.test(value);
    return refuse(isHost ? `"${value}" without a scheme` : 'a string that is not an absolute URL');
  }
  if (url.username || url.password) refuse('a URL with a user or password');
  if (url.search || url.hash) refuse('a URL with a query or fragment');
  const isHttp = url.protocol === 'http:' && (allowInsecure === true || isLoopback(url.hostname));
  if (!isHttp && url.protocol !== 'https:') refuse(`the scheme "${url.protocol}"`);
  return url.href.replace(/\/+$/, '');
}
