/// <reference types="node" />
/** The list of commands, and the exit code of a command line. */

import { readFile } from 'node:fs/promises';
import { Command, CommanderError } from 'commander';
import { isTokenError } from '../token/index.ts';
import { demoCommand } from './demo.ts';
import { initCommand } from './init.ts';
import { warnIfReadableByOthers } from './input/input.ts';
import { inspectCommand } from './inspect.ts';
import type { Io, STOPPED } from './io.ts';
import { mapCommand } from './map/command.ts';
import { operatorCommand } from './operator/command.ts';
import { keysCommand } from './operator/keys.ts';
import { participantsCommand } from './operator/participants.ts';
import { addExamples } from './output/examples.ts';
import { coloursOf, lead, withSafeOutput } from './output/style.ts';
import { doctorCommand } from './service/doctor.ts';
import { bucketsCommand, optOutsCommand } from './service/raw-ids.ts';
import { readEnvFile } from './service/service-options.ts';
import { generateCommand, optOutCommand, refreshCommand, validateCommand } from './service/tokens.ts';

const COMMANDS = [
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
  inspectCommand,
  doctorCommand,
  initCommand,
  demoCommand,
];

/** 0 done; 1 the service refused or could not start, or a check failed; 2 wrong usage; 130 stopped by a signal. */
export type ExitCode = 0 | 1 | 2 | typeof STOPPED;

/** Two folders up, both in `src/` and in `dist/`. */
async function readVersion(): Promise<string> {
  return JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')).version;
}

/** Remove the arguments that a commander message quotes, because they may be DII, a token or a secret. */
function redactArguments(message: string, args: readonly string[]): string {
  let text = message;
  for (const arg of args) {
    // Names of commands and options may stay; values may not.
    const [name = ''] = /^-{0,2}[a-z][a-z-]{0,30}(?=$|=)/.exec(arg) ?? [];
    if (name !== arg) text = text.replaceAll(`'${arg}'`, `'${name.startsWith('-') ? name : '...'}'`);
    // Commander quotes a value only in `--option=value`.
    if (arg.startsWith('-') && arg.includes('='))
      text = text.replaceAll(`'${arg.slice(arg.indexOf('=') + 1)}'`, "'...'");
  }
  return text;
}

/** What the user can do about an error of the service; undefined if the error's message already says it. */
async function hintFor(error: unknown): Promise<string | undefined> {
  if (!isTokenError(error)) return undefined;
  if (error.code === 'unauthorized') {
    const { requiredRoles } = await import('./service/required-roles.ts');
    const role = requiredRoles(error.message.split(':', 1)[0]!) ?? 'of this request';
    return `check that the service knows this API key, and that it has the role ${role}: tessera doctor, with the same address and key`;
  }
  if (error.code === 'clock_skew') return 'set the clock of this machine: tessera doctor shows the difference';
  if (error.message.includes('Check encryption key')) return 'check the client secret: it must belong to the API key';
  return undefined;
}

function hintAtHelp(command: Command, path: string, io: Io): Command {
  const what = command.commands.length > 0 ? 'commands' : 'options';
  return command.showHelpAfterError(`${lead('hint', io)} ${path} --help lists the ${what}`);
}

/** Pass the settings of the program to a command and the commands below it, and add their examples. `name`: `keys list`. */
function adopt(command: Command, program: Command, io: Io, name = command.name()): Command {
  for (const part of command.commands) adopt(part, program, io, `${name} ${part.name()}`);
  return addExamples(hintAtHelp(command.copyInheritedSettings(program), `tessera ${name}`, io), name);
}

/** Create the whole program. A message that quotes `args`, the command line, is redacted. */
export function createProgram(version: string, args: readonly string[], io: Io): Command {
  const { bold } = coloursOf(io, 'out');
  const program = new Command('tessera')
    .version(version, '--version', 'print the version')
    .description('Run an operator for identity tokens on this machine, or call any operator')
    .exitOverride()
    .configureHelp({ styleTitle: bold })
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd()),
      writeErr: (text) => io.err(text.trimEnd()),
      // Commander ends its sentence before the reason, which is not one, and writes `error:` itself.
      outputError: (text, write) =>
        write(
          redactArguments(text, args)
            .replace(' is invalid. expected ', ' is invalid: expected ')
            .replace(/^error:/, lead('error', io)),
        ),
      getOutHasColors: () => bold('') !== '',
      getErrHasColors: () => coloursOf(io, 'err').bold('') !== '',
    });
  for (const create of COMMANDS) program.addCommand(adopt(create(io), program, io));
  return hintAtHelp(program, 'tessera', io);
}

function readEnvFileFirst(program: Command, io: Io): void {
  program.hook('preAction', async (_, command) => {
    const { env: envFile } = command.opts<{ env?: string }>();
    // The operator writes this file.
    if (envFile === undefined || command.name() === 'operator') return;
    await warnIfReadableByOthers(envFile, io, '--env');
    for (const [name, value] of Object.entries(await readEnvFile(envFile))) {
      if (!io.env[name]) (io.env as Record<string, string | undefined>)[name] = value;
      // The package `pg` reads its variables, such as PGPASSWORD, from the process environment.
      if (/^PG[A-Z]+$/.test(name)) process.env[name] ||= value;
    }
  });
}

/** Run one command line. Never rejects. */
export async function run(args: readonly string[], given: Io): Promise<ExitCode> {
  const safe = withSafeOutput(given);
  const io: Io = { ...safe, env: { ...safe.env } };
  const program = createProgram(await readVersion(), args, io);
  readEnvFileFirst(program, io);
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has already printed its errors. It also throws after printing help, with exit code 0.
    if (error instanceof CommanderError) {
      const isOurs = error.code.startsWith('tessera.') || error.exitCode === 0;
      return isOurs ? (error.exitCode as ExitCode) : 2;
    }
    io.err(`${lead('error', io)} ${error instanceof Error ? error.message : String(error)}`);
    const hint = await hintFor(error);
    if (hint !== undefined) io.err(`${lead('hint', io)} ${hint}`);
    // TypeError and RangeError mean wrong arguments.
    return error instanceof TypeError || error instanceof RangeError ? 2 : 1;
  }
}
