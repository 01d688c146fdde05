/**
 * Checks of single options of an operator: a TypeError for the wrong type, a RangeError for a value out of range. A message says
 * which option is wrong, what was expected and what was passed.
 *
 * `options.ts` defines the options, and `resolve.ts` their defaults.
 */

import type { Bytes } from '../../token/bytes.ts';
import { choiceFault, integerFault, kindOf, typeFault } from '../../token/checks.ts';
import { expectedGot } from '../../token/errors.ts';
import { parseHash } from '../../token/index.ts';

/** 1000 years. A later instant might not be a valid date. */
const MAX_LIFETIME_SECONDS = 31_557_600_000;
const SECRET_FORMS = '32 bytes, or their base64 or hexadecimal';

/** Throw a TypeError if a check has found a fault. */
export function throwTypeIf(fault: string | undefined): void {
  if (fault !== undefined) throw new TypeError(fault);
}

/** A RangeError for a value of the right type, a TypeError for any other. */
function throwFault(fault: string | undefined, value: unknown, type: 'string' | 'number'): void {
  if (fault !== undefined && typeof value === type) throw new RangeError(fault);
  throwTypeIf(fault);
}

/** Return `value` if it is one of `choices`; otherwise throw. */
export function choice<T extends string>(name: string, value: unknown, choices: readonly T[]): T {
  throwFault(choiceFault(name, choices, value), value, 'string');
  return value as T;
}

/** Return `value` if it is a whole number from `least` to `most`; otherwise throw. */
export function integer(name: string, value: unknown, least: number, most: number): number {
  throwFault(integerFault(name, least, most, value), value, 'number');
  return value as number;
}

/** Throw unless `value` is a string. Unlike `typeFault`, this accepts the empty string, which has the right type. */
export function requireString(name: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') throw new TypeError(expectedGot(name, 'string', kindOf(value)));
}

/** Convert a lifetime from seconds to whole milliseconds, at least 1. Throws unless it is a number above 0, at most 1000 years. */
export function lifetimeMs(name: string, seconds: number): number {
  throwFault(typeFault(name, 'number', seconds), seconds, 'number');
  if (seconds > MAX_LIFETIME_SECONDS)
    throw new RangeError(expectedGot(name, `at most ${MAX_LIFETIME_SECONDS}`, seconds));
  return Math.max(1, Math.round(seconds * 1000));
}

/**
 * Return the 32 bytes of a secret, passed as bytes, base64 or hexadecimal. Throws otherwise; the message does not show the value.
 */
export function secretBytes(name: string, value: unknown): Bytes {
  if (value instanceof Uint8Array) {
    if (value.length !== 32) throw new RangeError(expectedGot(name, SECRET_FORMS, `${value.length} bytes`));
    return Uint8Array.from(value);
  }
  if (typeof value !== 'string') throw new TypeError(expectedGot(name, SECRET_FORMS, kindOf(value)));
  const bytes = parseHash(value);
  if (!bytes) throw new RangeError(expectedGot(name, SECRET_FORMS, `another string of ${value.length} characters`));
  return bytes;
}
