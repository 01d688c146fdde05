/** An option as data, and the check of its value. A message says what was expected and passed, and never shows a secret. */

import type { Bytes } from '../../token/bytes.ts';
import { choiceFault, integerFault, kindOf, throwIf, typeFault } from '../../token/checks.ts';
import { expectedGot } from '../../token/errors.ts';
import { parseHash } from '../../token/index.ts';
import { ROLES } from '../ports/roles.ts';

/** What a value must be. A lifetime is a number of seconds above 0; `any` is checked where it is used. */
type OptionKind =
  | { readonly kind: 'whole'; readonly range: readonly [least: number, most: number]; readonly isZeroAllowed?: true }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  | { readonly kind: 'lifetime' | 'roles' | 'string' | 'boolean' | 'array' | 'object' | 'function' | 'any' };

/** An option as data. With a help text, it is an option of the command line too. */
export type OptionRow = OptionKind & {
  /** Not a member of the `--config` file. */
  readonly isProgramOnly?: true;
  /** Others should not be able to read a file that contains it. */
  readonly isSecret?: true;
  readonly default?: string | number | readonly string[];
  readonly inProduction?: number;
  /** For the help: what applies without an option that has no default. */
  readonly unset?: string;
  /** The environment variable that the command reads if its command line does not have the option. */
  readonly variable?: string;
  /** For the help: the name of the value. */
  readonly value?: string;
  readonly help?: string;
};

/** 1000 years. A later instant might not be a valid date. */
const MAX_LIFETIME_SECONDS = 31_557_600_000;
const SECRET_FORMS = '32 bytes, or their base64 or hexadecimal';

/** Throw unless `value` is a string. Unlike `typeFault`, this accepts the empty string, which has the right type. */
export function requireString(name: string, value: unknown): asserts value is string {
  if (typeof value !== 'string') throw new TypeError(expectedGot(name, 'string', kindOf(value)));
}

function throwFault(fault: string | undefined, value: unknown, type: 'string' | 'number'): void {
  if (fault !== undefined && typeof value === type) throw new RangeError(fault);
  throwIf(fault);
}

export function integer(name: string, value: unknown, least: number, most: number): number {
  throwFault(integerFault(name, least, most, value), value, 'number');
  return value as number;
}

function checkOption(name: string, row: OptionRow, value: unknown): void {
  switch (row.kind) {
    case 'whole':
      if (value !== 0 || !row.isZeroAllowed) integer(name, value, ...row.range);
      break;
    case 'choice':
      throwFault(choiceFault(name, row.choices, value), value, 'string');
      break;
    case 'roles':
      throwIf(typeFault(name, 'array', value));
      for (const role of value as readonly unknown[]) throwFault(choiceFault(name, ROLES, role), role, 'string');
      break;
    case 'lifetime':
      throwFault(typeFault(name, 'positive', value), value, 'number');
      if (Number(value) > MAX_LIFETIME_SECONDS)
        throw new RangeError(expectedGot(name, `at most ${MAX_LIFETIME_SECONDS}`, value));
      break;
    case 'string':
      requireString(name, value);
      break;
    case 'any':
      break;
    default:
      throwIf(typeFault(name, row.kind, value));
  }
}

/** Check each given option by itself. `path` precedes the names in messages, for example `participants[0].`. */
export function checkOptions(rows: Readonly<Record<string, OptionRow>>, given: object, path = ''): void {
  for (const [name, row] of Object.entries(rows)) {
    const value = given[name as keyof typeof given];
    if (value !== undefined) checkOption(path + name, row, value);
  }
}

/** Return the 32 bytes of a secret, passed as bytes, base64 or hexadecimal; otherwise throw, without showing the value. */
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
