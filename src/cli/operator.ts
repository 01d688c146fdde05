/**
 * The verb `operator`: its options. What it does is `serve.ts`, which is loaded when it is asked for.
 */

import { Command, InvalidArgumentError, Option } from 'commander';
import type { Io } from './io.ts';
import { LOG_LEVELS, type OperatorFlags, settle } from './settings.ts';

const number = (text: string): number => {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('expected a number');
  return value;
};
const rolesIn = (text: string): string[] => text.split(',').map((role) => role.trim().toUpperCase());

/** The verb `operator`. */
export function operatorCommand(io: Io): Command {
  return new Command('operator')
    .description('run the service on this machine')
    .option('--port <port>', 'port to listen on, 0 for any free one (default: 8080)', number)
    .option('--host <host>', 'address to listen on (default: 127.0.0.1)')
    .option('--api-key <key>', 'API key of the participant (TESSERA_API_KEY; default: made and printed)')
    .option(
      '--client-secret <secret>',
      'its secret, base64 of 32 bytes (TESSERA_CLIENT_SECRET; default: made and printed)',
    )
    .option('--site-id <id>', 'its site (default: 101)', number)
    .option(
      '--roles <list>',
      'its roles, by commas: GENERATOR, MAPPER, ID_READER, SHARER, OPTOUT (default: all)',
      rolesIn,
    )
    .option(
      '--database <where>',
      'what keeps participants, opt-outs and root secret: a folder, for one process, or postgres://..., for several (default: memory)',
    )
    .option(
      '--root-secret-file <file>',
      'root secret: 32 bytes, or their base64 (TESSERA_ROOT_SECRET; default: made, and kept in the database)',
    )
    .option('--environment <name>', 'integration or production (default: integration)')
    .option('--scope <name>', 'UID2 or EUID (default: UID2)')
    .option('--identity-expires <seconds>', 'life of an advertising token', number)
    .option('--refresh-from <seconds>', 'age from which a refresh is due', number)
    .option('--refresh-expires <seconds>', 'life of a refresh token', number)
    .option('--rotation-period <seconds>', 'time between two rotations of a salt bucket (default: 31536000)', number)
    .option('--rate-limit <number>', 'mapping requests a second and participant (default: no limit)', number)
    .option('--max-batch-size <number>', 'identifiers in one mapping request (default: 5000)', number)
    .option('--key-generation <number>', 'newest generation of token keys (default: 1)', number)
    .addOption(
      new Option('--log-level <level>', 'what to log, as JSON lines on standard error (default: info)').choices(
        LOG_LEVELS,
      ),
    )
    .option('--config <file>', 'JSON file with these options, names in camelCase, and participants')
    .action(async (flags: OperatorFlags) => {
      const settings = await settle(flags, io);
      return (await import('./serve.ts')).serve(settings, io);
    });
}
