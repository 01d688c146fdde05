/// <reference types="node" />
/**
 * The command `operator`: its options. `serve.ts`, which runs it, is loaded on demand.
 */

import { Command, Option } from 'commander';
import type { Io } from '../io.ts';
import { parseNumber, parseRoles, withFlagNames } from '../options.ts';
import type { CredentialOutput } from './credentials.ts';
import {
  LOG_LEVELS,
  loadSettings,
  type OperatorCommandOptions,
  type OperatorSettings,
  operatorOptions,
} from './settings.ts';

function optionNames({ options }: Command): string[] {
  return options.map((option) => option.attributeName());
}

/** The options for callers, and for what they may reach. */
function addLimits(command: Command): Command {
  return command
    .option(
      '--metrics-port <port>',
      'separate port for /metrics, 0 for any free port (default: the port of the service)',
      parseNumber,
    )
    .option(
      '--drain-seconds <seconds>',
      'after a signal, answer requests for this long while the health check answers 503 (default: 0)',
      parseNumber,
    )
    .option('--trust-proxy', 'read client addresses from X-Forwarded-For, which the proxy in front sets')
    .option('--rate-limit <number>', 'mapping requests per second and participant (default: no limit)', parseNumber)
    .option(
      '--anonymous-rate-limit <number>',
      'refreshes and rejected requests per second and client address (default: no limit)',
      parseNumber,
    )
    .option('--max-batch-size <number>', 'identifiers in one mapping request (default: 5000)', parseNumber);
}

/** The options for tokens and their keys. */
function addTokens(command: Command): Command {
  return command
    .option('--environment <name>', 'integration or production (default: integration)')
    .option('--scope <name>', 'UID2 or EUID (default: UID2)')
    .option(
      '--identity-expires <seconds>',
      'lifetime of an advertising token (default: 3600; in production 86400)',
      parseNumber,
    )
    .option(
      '--refresh-from <seconds>',
      'age at which a token is due for a refresh (default: 900; in production 3600)',
      parseNumber,
    )
    .option(
      '--refresh-expires <seconds>',
      'lifetime of a refresh token (default: 86400; in production 2592000)',
      parseNumber,
    )
    .option(
      '--rotation-period <seconds>',
      'time between two rotations of a salt bucket (default: 31536000)',
      parseNumber,
    )
    .option(
      '--key-generation <number>',
      'newest generation of token keys, at most 127 without a database (default: the stored one, or 1)',
      parseNumber,
    )
    .option(
      '--key-rotation <seconds>',
      'time between generations of token keys, 0 for no rotation (default: 2592000 with a database and without --key-generation, otherwise 0)',
      parseNumber,
    );
}

type Flags = OperatorCommandOptions & CredentialOutput & { readonly env?: string };

async function serveChecked(settings: OperatorSettings, output: CredentialOutput, io: Io): Promise<void> {
  // A wrong option is reported before a port that is in use.
  (await import('../../operator/options/resolve.ts')).resolveOptions(operatorOptions(settings));
  io.serves?.();
  await (await import('./serve.ts')).serve(settings, output, io);
}

/** Create the command `operator`. */
export function operatorCommand(io: Io): Command {
  const command = new Command('operator')
    .description('run an operator on this machine')
    .option('--port <port>', 'port to listen on, 0 for any free port (default: 8080)', parseNumber)
    .option('--host <host>', 'address to listen on (default: 127.0.0.1)')
    .option('--api-key <key>', 'API key of the participant (TESSERA_API_KEY; default: generated and printed)')
    .option(
      '--client-secret <secret>',
      'client secret of the participant, base64 of 32 bytes (TESSERA_CLIENT_SECRET; default: generated and printed)',
    )
    .option('--site-id <id>', 'site ID of the participant (default: 101)', parseNumber)
    .option(
      '--roles <list>',
      'roles of the participant, separated by commas: GENERATOR, MAPPER, ID_READER, SHARER, OPTOUT (default: GENERATOR,MAPPER)',
      parseRoles,
    )
    .option(
      '--database <where>',
      'where to store participants, opt-outs and root secret: a folder for one process, postgres://... for several (default: memory)',
    )
    .option(
      '--root-secret-file <file>',
      'file with the root secret: 32 bytes, or their base64 or hexadecimal (TESSERA_ROOT_SECRET; default: generated, and stored in the database)',
    )
    .option(
      '--store-root-secret',
      'store a generated root secret in the database without a warning on each start in production',
    );
  return addLimits(addTokens(command))
    .addOption(
      new Option('--log-level <level>', 'log level; logs are JSON lines on standard error (default: info)').choices(
        LOG_LEVELS,
      ),
    )
    .option('--config <file>', 'JSON file with these options, named in camelCase, and participants')
    .option('--print-credentials', 'print the generated credentials on every start, not only the first')
    .option(
      '--env-file, --env <file>',
      'write address and credentials to this file (mode 0600) instead of printing them',
    )
    .action(async ({ env: envFile, printCredentials, ...flags }: Flags) => {
      const output: CredentialOutput = { envFile, printCredentials };
      const settings = await loadSettings(flags, io);
      try {
        await serveChecked(settings, output, io);
      } catch (error) {
        throw withFlagNames(error, optionNames(command), flags);
      }
    });
}
