/** Checks of options and arguments. A wrong one is a programmer's mistake, so each throws a TypeError at once. */

import { choiceFault, integerFault, kindOf, nameFault, ownMembers, throwIf, typeFault } from '../token/checks.ts';
import { expectedGot } from '../token/errors.ts';

/** Highest number of parallel mapping requests that the service recommends. */
export const MAX_CONCURRENCY = 20;

/**
 * Check that the options are an object with known names only, and return its own members: a link may have set members of
 * `Object.prototype`, which every object then seems to have.
 * @param what  names the options in the message, for example `options`.
 * @param path  the prefix of an option's name in the message.
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

export function checkInteger(name: string, value: number, least: number, most: number): number {
  throwIf(integerFault(name, least, most, value));
  return value;
}

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

/** Before anything is read. A string, which is iterable too, is rejected. */
export function checkSource(name: string, source: unknown): void {
  const isIterable =
    typeof source === 'object' && source !== null && (Symbol.asyncIterator in source || Symbol.iterator in source);
  if (!isIterable) throw new TypeError(expectedGot(name, 'iterable or async iterable', kindOf(source)));
}

/** Throw a TypeError for the request of Express, or of another server on `node:http`, which is not a Request. */
export function checkRequest(name: string, request: unknown): void {
  const { headers } = Object(request) as Partial<Request>;
  if (typeof headers?.get === 'function') return;
  const got = headers
    ? 'a request of node:http: wrap the handler in toNodeListener of tessera-id/server/node'
    : kindOf(request);
  throw new TypeError(expectedGot(name, 'a Request', got));
}
