/**
 * Checks that throw for invalid options and arguments. These are a programmer's mistakes, so each is a TypeError at once.
 *
 * `token/checks.ts` defines the rules and the messages. `mapping/` uses these checks too.
 */

import { choiceFault, integerFault, kindOf, nameFault, ownMembers, throwIf, typeFault } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';

/** Highest number of parallel mapping requests that the service recommends. */
export const MAX_CONCURRENCY = 20;

/**
 * Check that the options are an object with known names only, and return its own members: a link may have set members of
 * `Object.prototype`, which every object then seems to have.
 *
 * @param what   names the options in the message, for example `options`.
 * @param names  an object with every option as a key.
 * @param path   the prefix of an option's name in the message. Default: none.
 */
export function checkOptionNames<T extends object>(
  what: string,
  names: Readonly<Record<string, true>>,
  given: T,
  path = '',
): T {
  throwIf(typeFault(what, 'object', given) ?? nameFault(path, Object.keys(names), given));
  return ownMembers(given);
}

/** Return `value` if it is a whole number from `least` to `most`; otherwise throw a TypeError that names the option. */
export function checkInteger(name: string, value: number, least: number, most: number): number {
  throwIf(integerFault(name, least, most, value));
  return value;
}

/** Return `value` if that many mapping requests may be in flight; otherwise throw a TypeError that names the option. */
export function checkConcurrency(name: string, value: number): number {
  return checkInteger(name, value, 1, MAX_CONCURRENCY);
}

export function checkChoice<T extends string>(name: string, choices: readonly T[], value: T): T {
  throwIf(choiceFault(name, choices, value));
  return value;
}

export function checkFunction<T>(name: string, value: T): T {
  throwIf(typeFault(name, 'function', value));
  return value;
}

/**
 * Check, before anything is read, that a value is an iterable object. A string is rejected.
 *
 * @param name  the argument, for the message.
 * @throws {TypeError} for any other value.
 */
export function checkSource(name: string, source: unknown): void {
  const isIterable =
    typeof source === 'object' && source !== null && (Symbol.asyncIterator in source || Symbol.iterator in source);
  if (!isIterable) throw new TypeError(expectedGot(name, 'iterable or async iterable', kindOf(source)));
}
