/// <reference types="node" />
/**
 * What `tessera operator` is told.
 *
 * Options come from the command line, then the environment, then the file of `--config`; `createOperator` checks them.
 */

import { readFile } from 'node:fs/promises';
import type { OperatorOptions } from '../operator/index.ts';
import { kindOf } from '../token/checks.ts';
import type { Io } from './io.ts';
import { warnOf, warnOfPassword } from './service.ts';

/** What `--config` may name: the options of an operator, and where it listens. Seconds, as everywhere here. */
export interface Settings extends Omit<OperatorOptions, 'now' | 'state' | 'logger'> {
  readonly port?: number;
  readonly host?: string;
  readonly rootSecretFile?: string;
  readonly logLevel?: string;
}

/** The options of the verb. */
export interface OperatorFlags extends Settings {
  readonly config?: string;
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

/** What `--log-level` may be. */
export const LOG_LEVELS = ['info', 'warn', 'error', 'silent'];

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
  if (kindOf(config) !== 'object') throw new TypeError('--config: expected a JSON object');
  for (const name of Object.keys(config as object))
    if (!(CONFIG_NAMES as readonly string[]).includes(name))
      throw new RangeError(`--config: expected one of ${CONFIG_NAMES.join(', ')}, got ${JSON.stringify(name)}`);
  const { port, host, logLevel } = config as Record<string, unknown>;
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

/**
 * Settle the options.
 *
 * @throws {RangeError} a file that cannot be read, or says what no option is.
 */
export async function settle(flags: OperatorFlags, io: Io): Promise<Settings> {
  const { config, ...named } = flags;
  const { env } = io;
  if (named.apiKey !== undefined) warnOf('--api-key', io);
  if (named.clientSecret !== undefined) warnOf('--client-secret', io);
  warnOfPassword(named.database, io);
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
}
