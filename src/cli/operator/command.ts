/// <reference types="node" />
/** The command `operator`: its options. `serve.ts`, which runs it, is loaded on demand. */

import { Command, Option } from 'commander';
import { checkOptions, type OptionRow } from '../../operator/options/checks.ts';
import { flagOf, parseNumber, parseRoles, withFlagNames } from '../input/options.ts';
import type { Io } from '../io.ts';
import type { CredentialOutput } from './credentials.ts';
import { ALL_OPTIONS, COMMAND_OPTIONS, loadSettings, type OperatorSettings, operatorOptions } from './settings.ts';

function helpOf({ help, variable, default: standard, inProduction, unset }: OptionRow): string {
  const without = standard === undefined ? unset : `${standard}`;
  const production = inProduction === undefined ? '' : `; in production ${inProduction}`;
  const notes = [variable, without && `default: ${without}${production}`].filter(Boolean);
  return notes.length > 0 ? `${help} (${notes.join('; ')})` : `${help}`;
}

function commandOption(name: string, row: OptionRow): Option {
  const option = new Option(row.value ? `${flagOf(name)} <${row.value}>` : flagOf(name), helpOf(row));
  if (row.kind === 'whole' || row.kind === 'lifetime') option.argParser(parseNumber);
  if (row.kind === 'roles') option.argParser(parseRoles);
  return row.kind === 'choice' ? option.choices(row.choices) : option;
}

type Flags = OperatorSettings & CredentialOutput & { readonly config?: string; readonly env?: string };

export function operatorCommand(io: Io): Command {
  const command = new Command('operator').description('run an operator on this machine');
  const names = Object.keys(ALL_OPTIONS).filter((name) => ALL_OPTIONS[name]!.help !== undefined);
  for (const name of names) command.addOption(commandOption(name, ALL_OPTIONS[name]!));
  return command
    .option('--config <file>', 'JSON file with these options, named in camelCase, and participants')
    .option('--print-credentials', 'print the generated credentials on every start, not only the first')
    .option(
      '--env-file, --env <file>',
      'write address and credentials to this file (mode 0600) instead of printing them',
    )
    .action(async ({ env: envFile, printCredentials, ...flags }: Flags) => {
      const settings = await loadSettings(flags, io);
      try {
        // A wrong option is reported before a port that is in use.
        checkOptions(COMMAND_OPTIONS, settings);
        (await import('../../operator/options/resolve.ts')).resolveOptions(operatorOptions(settings));
        io.serves?.();
        await (await import('./serve.ts')).serve(settings, { envFile, printCredentials }, io);
      } catch (error) {
        throw withFlagNames(error, names, flags);
      }
    });
}
