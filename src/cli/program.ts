/// <reference types="node" />
/**
 * The verbs of the command line, and what an exit code says.
 *
 * Every verb calls one function of another room; it knows no protocol itself.
 */

import { Command, CommanderError } from 'commander';
import type { Io } from './io.ts';
import { operatorCommand } from './operator.ts';

/** Done; the service refused or could not start; wrong use. */
export type ExitCode = 0 | 1 | 2;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Run one command line. Never rejects. */
export const run = async (args: readonly string[], io: Io): Promise<ExitCode> => {
  const program = new Command('tessera')
    .description('Identity tokens on one machine: the operator and the tools around it')
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.out(text.trimEnd()), writeErr: (text) => io.err(text.trimEnd()) });
  program.addCommand(operatorCommand(io).copyInheritedSettings(program));
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has said what was wrong, and also "throws" after printing help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    io.err(`error: ${messageOf(error)}`);
    // Wrong arguments are told by these two, here as everywhere.
    return error instanceof TypeError || error instanceof RangeError ? 2 : 1;
  }
};
