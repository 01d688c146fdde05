/// <reference types="node" />
/**
 * The list of verbs, and the exit code of a command line.
 *
 * Each verb calls one function of another folder; this folder knows no protocol.
 */

import { readFile } from 'node:fs/promises';
import { Command, CommanderError } from 'commander';
import { type Io, STOPPED } from './io.ts';
import { keysCommand } from './keys.ts';
import { mapCommand } from './map/command.ts';
import { operatorCommand } from './operator.ts';
import { participantsCommand } from './participants.ts';
import { bucketsCommand, optOutsCommand } from './raw-ids.ts';
import { withSafeOutput } from './safe-output.ts';
import { generateCommand, optOutCommand, refreshCommand, validateCommand } from './tokens.ts';

const VERBS = [
  operatorCommand,
  keysCommand,
  participantsCommand,
  generateCommand,
  validateCommand,
  refreshCommand,
  mapCommand,
  optOutCommand,
  bucketsCommand,
  optOutsCommand,
];

/** 0 done; 1 the service refused or could not start; 2 wrong use; 130 stopped by a signal. */
export type ExitCode = 0 | 1 | 2 | typeof STOPPED;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

// Two folders up, in `src/` as in `dist/`.
const readVersion = async (): Promise<string> =>
  JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')).version;

/** Remove the arguments that a message of commander quotes: they may be DII, a token or a secret. */
const redactArguments = (message: string, args: readonly string[]): string => {
  let text = message;
  for (const arg of args) {
    // Names of verbs and options may stay, values may not.
    const [name = ''] = /^-{0,2}[a-z][a-z-]{0,30}(?=$|=)/.exec(arg) ?? [];
    if (name !== arg) text = text.replaceAll(`'${arg}'`, `'${name.startsWith('-') ? name : '...'}'`);
  }
  return text;
};

/** Run one command line. Never rejects. */
export async function run(args: readonly string[], given: Io): Promise<ExitCode> {
  const io = withSafeOutput(given);
  const program = new Command('tessera')
    .version(await readVersion(), '--version', 'print the version')
    .description('Identity tokens on one machine: the operator and the tools around it')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd()),
      writeErr: (text) => io.err(text.trimEnd()),
      outputError: (text, write) => write(redactArguments(text, args)),
    });
  for (const verb of VERBS) {
    const command = verb(io).copyInheritedSettings(program);
    for (const part of command.commands) part.copyInheritedSettings(program);
    program.addCommand(command);
  }
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has already printed the error. It also throws after printing help, with exit code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 || error.exitCode === STOPPED ? error.exitCode : 2;
    io.err(`error: ${messageOf(error)}`);
    // TypeError and RangeError mean wrong arguments.
    return error instanceof TypeError || error instanceof RangeError ? 2 : 1;
  }
}
