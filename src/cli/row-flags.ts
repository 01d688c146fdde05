/**
 * The options of the verbs that read rows.
 */

import { type Command, InvalidArgumentError } from 'commander';

/** Which column, and what separates columns. */
export interface RowFlags {
  readonly column?: string;
  readonly delimiter?: string;
}

const delimiterIn = (text: string): string => {
  const delimiter = text === 'tab' || text === '\\t' ? '\t' : text;
  if (delimiter.length !== 1 || /["\r\n]/.test(delimiter))
    throw new InvalidArgumentError('expected one character, or tab');
  return delimiter;
};

/** Give a verb these options. */
export function withRows(command: Command): Command {
  return command
    .option('--column <name>', 'the column, by name, or by number from 1 on (default: the one with a known name)')
    .option('--delimiter <character>', 'what separates columns, or tab (default: told by the first line)', delimiterIn);
}
