/// <reference types="node" />
/**
 * `tessera operator`: the service behind a port, until it is told to stop.
 *
 * Options come from the command line, then the environment, then the file of `--config`; `createOperator` checks them.
 * Standard output carries credentials that were made and one line when the port is open; all else goes to standard error.
 */

import { readFile } from 'node:fs/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { pino } from 'pino';
import type { OperatorOptions } from '../operator/index.ts';
import { createOperator } from '../operator/index.ts';
import type { Listening } from '../operator/node.ts';
import { listen } from '../operator/node.ts';
import { isObject } from '../operator/reply.ts';
import type { Io } from './io.ts';

/** What `--config` may name: the options of an operator, and where it listens. Seconds, as everywhere here. */
interface Settings extends Omit<OperatorOptions, 'now' | 'state' | 'logger'> {
  readonly port?: number;
  readonly host?: string;
  readonly rootSecretFile?: string;
  readonly logLevel?: string;
}

// Told apart here, so that a misspelt name does not pass unnoticed.
const CONFIG_NAMES = [
  'port',
  'host',
  'rootSecretFile',
  'database',
  'logLevel',
  'participants',
  'apiKey',
  'clientSecret',
  'siteId',
  'roles',
  'rootSecret',
  'environment',
  'scope',
  'identityExpires',
  'refreshFrom',
  'refreshExpires',
  'rotationPeriod',
  'rateLimit',
  'maxBatchSize',
  'keyGeneration',
] as const satisfies (keyof Settings)[];

const LOG_LEVELS = ['info', 'warn', 'error', 'silent'];

const number = (text: string): number => {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('expected a number');
  return value;
};
const rolesIn = (text: string): string[] => text.split(',').map((role) => role.trim().toUpperCase());

const read = async (what: string, file: string): Promise<Buffer> => {
  try {
    return await readFile(file);
  } catch (error) {
    throw new RangeError(`${what}: expected a readable file, got ${(error as NodeJS.ErrnoException).code}`);
  }
};

const configIn = async (file: string | undefined): Promise<Settings> => {
  if (file === undefined) return {};
  let config: unknown;
  try {
    config = JSON.parse((await read('--config', file)).toString('utf8'));
  } catch (error) {
    // The message of a parser may quote the file, and the file may hold secrets.
    throw error instanceof RangeError ? error : new RangeError('--config: expected JSON, got other text');
  }
  if (!isObject(config)) throw new TypeError('--config: expected a JSON object');
  for (const name of Object.keys(config))
    if (!(CONFIG_NAMES as readonly string[]).includes(name))
      throw new RangeError(`--config: expected one of ${CONFIG_NAMES.join(', ')}, got ${JSON.stringify(name)}`);
  const { port, host, logLevel } = config;
  // What no option of the operator checks. A host that is no text would be taken for something else by Node.
  if (port !== undefined && typeof port !== 'number') throw new TypeError(`port: expected number, got ${typeof port}`);
  if (host !== undefined && typeof host !== 'string') throw new TypeError(`host: expected text, got ${typeof host}`);
  if (logLevel !== undefined && !LOG_LEVELS.includes(logLevel as string))
    throw new RangeError(`logLevel: expected one of ${LOG_LEVELS.join(', ')}, got another`);
  return config as Settings;
};

// 32 bytes as they are, or text: base64 or hexadecimal.
const secretIn = async (file: string): Promise<Uint8Array | string> => {
  const content = await read('--root-secret-file', file);
  return content.length === 32 ? Uint8Array.from(content) : content.toString('utf8').trim();
};

const given = <T extends object>(settings: T): Partial<T> =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as Partial<T>;

const settle = async (flags: Settings & { readonly config?: string }, { env, err }: Io): Promise<Settings> => {
  const { config, ...named } = flags;
  for (const [name, flag] of [
    ['apiKey', '--api-key'],
    ['clientSecret', '--client-secret'],
  ] as const)
    if (named[name] !== undefined)
      err(`warning: ${flag} on the command line can be read by every user of this machine; prefer the environment`);
  if (/^[a-z]+:\/\/[^/]*:[^/]*@/i.test(named.database ?? ''))
    err('warning: the password in --database can be read by every user of this machine; prefer PGPASSWORD');
  const environment: Settings = {
    apiKey: env.TESSERA_API_KEY || undefined,
    clientSecret: env.TESSERA_CLIENT_SECRET || undefined,
    rootSecret: env.TESSERA_ROOT_SECRET || undefined,
  };
  // A secret of the environment goes before a file that only the config names.
  const { rootSecretFile, ...rest } = await configIn(config);
  const secretFile = named.rootSecretFile ?? (environment.rootSecret ? undefined : rootSecretFile);
  const settings: Settings = { ...rest, ...given(environment), ...named };
  return secretFile === undefined ? settings : { ...settings, rootSecret: await secretIn(secretFile) };
};

const serve = async (settings: Settings, io: Io): Promise<void> => {
  const { port = 8080, host = '127.0.0.1', logLevel = 'info', rootSecretFile: _, ...options } = settings;
  // Host and process are not in it: whoever collects the lines knows them.
  const logger = pino({ base: null, level: logLevel }, { write: (line) => io.err(line.trimEnd()) });
  const operator = createOperator({ ...options, logger });
  if (operator.inMemory) {
    if (options.rootSecret === undefined)
      io.err('warning: no root secret given, one was made: IDs, keys and tokens end with this process');
    io.err('warning: opt-outs are kept in memory: they end with this process');
  }
  let listening: Listening;
  try {
    await operator.ready;
    listening = await listen(operator, { port, host });
  } catch (error) {
    // A folder is left to the next one.
    await operator.close();
    throw error;
  }
  for (const { apiKey, clientSecret, siteId, roles } of operator.made) {
    io.out(`api key: ${apiKey}`);
    io.out(`client secret: ${clientSecret}`);
    io.out(`site id: ${siteId}`);
    io.out(`roles: ${roles.join(',')}`);
  }
  io.out(`listening on ${listening.url}`);
  await io.stopped();
  await listening.close();
  await operator.close();
};

/** The verb `operator`. */
export const operatorCommand = (io: Io): Command =>
  new Command('operator')
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
    .action(async (flags: Settings & { config?: string }) => serve(await settle(flags, io), io));
