/// <reference types="node" />
/**
 * The verbs of the command line, and what an exit code says.
 *
 * Every verb calls one function of another room; it knows no protocol itself.
 */

import { readFile } from 'node:fs/promises';
import { Command, CommanderError } from 'commander';
import { type Io, STOPPED } from './io.ts';
import { mapCommand } from './map.ts';
import { operatorCommand } from './operator.ts';
import { bucketsCommand, optOutsCommand } from './raw-ids.ts';
import { generateCommand, optOutCommand, refreshCommand, validateCommand } from './tokens.ts';

const VERBS = [
  operatorCommand,
  generateCommand,
  validateCommand,
  refreshCommand,
  mapCommand,
  optOutCommand,
  bucketsCommand,
  optOutsCommand,
];

/** Done; the service refused or could not start; wrong use; stopped by a signal before the end. */
export type ExitCode = 0 | 1 | 2 | typeof STOPPED;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

// Two folders up from the source as from what is built of it.
const versionOf = async (): Promise<string> =>
  JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')).version;

/** Commander's words without the arguments that they quote: those may be DII, a token or a secret. */
const cleared = (words: string, args: readonly string[]): string => {
  let text = words;
  for (const arg of args) {
    // Verbs and the names of options may be told, values may not.
    const [name = ''] = /^-{0,2}[a-z][a-z-]{0,30}(?=$|=)/.exec(arg) ?? [];
    if (name !== arg) text = text.replaceAll(`'${arg}'`, `'${name.startsWith('-') ? name : '...'}'`);
  }
  return text;
};

/** Run one command line. Never rejects. */
export async function run(args: readonly string[], io: Io): Promise<ExitCode> {
  const program = new Command('tessera')
    .version(await versionOf(), '--version', 'print the version')
    .description('Identity tokens on one machine: the operator and the tools around it')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd()),
      writeErr: (text) => io.err(text.trimEnd()),
      outputError: (text, write) => write(cleared(text, args)),
    });
  for (const verb of VERBS) program.addCommand(verb(io).copyInheritedSettings(program));
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has said what was wrong, and also "throws" after printing help.
    if (error instanceof CommanderError) return error.exitCode === 0 || error.exitCode === STOPPED ? error.exitCode : 2;
    io.err(`error: ${messageOf(error)}`);
    // Wrong arguments are told by these two, here as everywhere.
    return error instanceof TypeError || error instanceof RangeError ? 2 : 1;
  }
}
