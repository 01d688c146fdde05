/**
 * The options of the commands that read the rows of a file.
 */

import { type Command, InvalidArgumentError } from 'commander';

/** The column to read, and the column delimiter. */
export interface RowOptions {
  readonly column?: string;
  readonly delimiter?: string;
}

const parseDelimiter = (text: string): string => {
  const delimiter = text === 'tab' || text === '\\t' ? '\t' : text;
  if (delimiter.length !== 1 || /["\r\n]/.test(delimiter))
    throw new InvalidArgumentError('expected one character, or tab');
  return delimiter;
};

/** Add these options to a command. */
export function addRowOptions(command: Command): Command {
  return command
    .option('--column <name>', 'the column, by name or by number from 1 (default: the column with a known name)')
    .option(
      '--delimiter <character>',
      'column delimiter: one character, or tab (default: detected from the first line)',
      parseDelimiter,
    );
}
