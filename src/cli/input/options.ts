/** Options that several commands take, and their names in errors. */

import { type Command, InvalidArgumentError } from 'commander';

export function parseNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('expected a number');
  return value;
}

export function parseRoles(text: string): string[] {
  return text.split(',').map((role) => role.trim().toUpperCase());
}

export interface RowOptions {
  readonly column?: string;
  readonly delimiter?: string;
}

function parseDelimiter(text: string): string {
  const delimiter = text === 'tab' || text === '\\t' ? '\t' : text;
  if (delimiter.length !== 1 || /["\r\n]/.test(delimiter))
    throw new InvalidArgumentError('expected one character, or tab');
  return delimiter;
}

export function addRowOptions(command: Command): Command {
  return command
    .option('--column <name>', 'the column, by name or by number from 1 (default: the column with a known name)')
    .option(
      '--delimiter <character>',
      'column delimiter: one character, or tab (default: detected from the first line)',
      parseDelimiter,
    );
}

/** Return the flag of an option, given its name in a program: `siteId` is `--site-id`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/**
 * Rewrite the message of an error about wrong options (`names`, as in a program), for example `siteId` as `--site-id`. With a
 * configuration file, only options on the command line (`flags`) are rewritten.
 */
export function withFlagNames(error: unknown, names: readonly string[], flags: object): unknown {
  if (!(error instanceof TypeError || error instanceof RangeError)) return error;
  const hasConfig = 'config' in flags;
  const shown = new Map(names.filter((name) => !hasConfig || name in flags).map((name) => [name, flagOf(name)]));
  if ('rootSecretFile' in flags) shown.set('rootSecret', '--root-secret-file');
  else if (!hasConfig) shown.set('rootSecret', 'TESSERA_ROOT_SECRET');
  // The name at the start, and camelCase names, which cannot be English words. `participants[0].siteId` is in the file.
  const found = /^[a-z]+(?=:)|(?<!\.)\b[a-z]+(?:[A-Z][a-z]+)+\b/g;
  error.message = error.message.replace(found, (name) => shown.get(name) ?? name);
  return error;
}
