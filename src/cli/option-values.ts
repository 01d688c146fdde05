/** Parses the values of options that several commands take. */

import { InvalidArgumentError } from 'commander';

/** Parse a number. */
export function parseNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('expected a number');
  return value;
}

/** Parse a list of roles. */
export function parseRoles(text: string): string[] {
  return text.split(',').map((role) => role.trim().toUpperCase());
}
