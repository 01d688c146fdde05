/** Command lines in the shell blocks of the documentation, and how one is checked without running it. */

import { type Command, CommanderError } from 'commander';
import { silentIo } from '../../build/silent-io.ts';
import { createProgram } from '../../src/cli/program.ts';

const SEPARATOR = /^[()|;&]+$/;
const REDIRECTION = /^[<>]+$/;
/** What may stand before the command: another program that runs it. */
const BEFORE = /^(sudo|do|npx|docker compose exec(?: --[\w-]+)* \w+)$/;

/** Split a script into commands, each a list of words. It knows quotes, comments, pipes and continued lines; no here-documents. */
export const commandsOf = (script: string): string[][] => {
  const commands: string[][] = [];
  for (const line of script.replaceAll('\\\n', ' ').split('\n')) {
    const words = line.replace(/(^|\s)#.*$/, '').match(/"[^"]*"|'[^']*'|[()|;&]+|[<>]+|[^\s"'()|;&<>]+/g) ?? [];
    let command: string[] = [];
    for (const [index, word] of words.entries()) {
      if (SEPARATOR.test(word)) {
        commands.push(command);
        command = [];
      } else if (!REDIRECTION.test(word) && !REDIRECTION.test(words[index - 1] ?? ''))
        command.push(word.replace(/^(["'])(.*)\1$/, '$2'));
    }
    commands.push(command);
  }
  return commands.filter((command) => command.length > 0);
};

/** The arguments of `tessera` in a command; undefined if it runs something else. */
export const argumentsOf = (command: readonly string[]): string[] | undefined => {
  const at = command.findIndex(
    (word, index) =>
      (word === 'tessera' && (index === 0 || BEFORE.test(command.slice(0, index).join(' ')))) ||
      (word === 'tessera-id' && command[command[index - 1] === '--' ? index - 2 : index - 1] === 'npx'),
  );
  return at === -1 ? undefined : command.slice(at + 1);
};

const withoutActions = (command: Command): void => {
  if (command.commands.length === 0) command.action(() => {});
  for (const part of command.commands) withoutActions(part);
};

/** Parse a command line with the real program, whose commands do nothing. Returns what is wrong with it, or undefined. */
export const faultOf = async (args: readonly string[]): Promise<string | undefined> => {
  const program = createProgram('0.0.0', args, silentIo);
  withoutActions(program);
  try {
    await program.parseAsync(args, { from: 'user' });
    return undefined;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return undefined;
    return error instanceof Error ? error.message : String(error);
  }
};
