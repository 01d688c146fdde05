/// <reference types="node" />
/**
 * The settings of `tessera operator`, from the command line, the environment and the file of `--config`, in this order of
 * precedence. `createOperator` checks them.
 */

import { readFile } from 'node:fs/promises';
import type { OperatorOptions } from '../../operator/index.ts';
import { choiceFault, kindOf } from '../../token/checks.ts';
import { warnIfWritableByOthers } from '../existing-database.ts';
import { decodeText, warnIfReadableByOthers } from '../input.ts';
import type { Io } from '../io.ts';
import { flagOf } from '../options.ts';
import { parseJson, shownPath, unreadable } from '../paths.ts';
import { warnAboutPassword, warnAboutSecret } from '../service-options.ts';

/** The members of the `--config` file: the options of an operator, and those of this command. Durations are in seconds. */
export interface OperatorSettings extends Omit<OperatorOptions, 'now' | 'state' | 'logger'> {
  readonly port?: number;
  readonly host?: string;
  /** Port that serves only the metrics. Without it, they are on the port of the service. */
  readonly metricsPort?: number;
  /** Whether `X-Forwarded-For` identifies the clients. */
  readonly trustProxy?: boolean;
  readonly rootSecretFile?: string;
  /** Seconds for which the health check answers 503 after a signal, before the port is closed. Default: 0. */
  readonly drainSeconds?: number;
  readonly logLevel?: string;
  /** The environment variables that the participant's credentials come from; none in the file. */
  readonly credentialVariables?: readonly string[];
}

/** The options of the command. */
export interface OperatorCommandOptions extends OperatorSettings {
  readonly config?: string;
}

/** The settings that this command itself uses. The types keep both lists complete. */
const COMMAND_NAMES = {
  port: true,
  host: true,
  metricsPort: true,
  trustProxy: true,
  rootSecretFile: true,
  drainSeconds: true,
  logLevel: true,
} satisfies Record<Exclude<keyof OperatorSettings, keyof OperatorOptions | 'credentialVariables'>, true>;

/** The members of the file. An unknown one is an error. */
const CONFIG_NAMES = {
  ...COMMAND_NAMES,
  database: true,
  participants: true,
  apiKey: true,
  clientSecret: true,
  siteId: true,
  roles: true,
  rootSecret: true,
  storeRootSecret: true,
  environment: true,
  scope: true,
  identityExpires: true,
  refreshFrom: true,
  refreshExpires: true,
  rotationPeriod: true,
  rateLimit: true,
  anonymousRateLimit: true,
  publicMetrics: true,
  maxBatchSize: true,
  keyGeneration: true,
  keyRotation: true,
  sharing: true,
} satisfies Record<Exclude<keyof OperatorSettings, 'keepStoredParticipant' | 'credentialVariables'>, true>;

/** Return the settings for `createOperator`. */
export function operatorOptions({
  credentialVariables: _,
  ...settings
}: OperatorSettings): Omit<OperatorSettings, keyof typeof COMMAND_NAMES | 'credentialVariables'> {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !Object.hasOwn(COMMAND_NAMES, name)));
}

/** Members of the file that contain secrets. The URL of a database may contain a password. */
const SECRET_NAMES = ['participants', 'apiKey', 'clientSecret', 'rootSecret', 'database'];

/**
 * Members of the file that are used before `createOperator` checks them, or that it does not know. If `host` were empty or not a
 * string, Node would listen on every address, and it would read a number as the descriptor of an open file.
 */
const TYPES = {
  port: 'number',
  host: 'string',
  metricsPort: 'number',
  trustProxy: 'boolean',
  drainSeconds: 'number',
  rootSecretFile: 'string',
  database: 'string',
} as const satisfies { readonly [name in keyof OperatorSettings]: string };

function typesFault(settings: OperatorSettings): string | undefined {
  for (const [name, type] of Object.entries(TYPES)) {
    const value = settings[name as keyof typeof TYPES];
    if (value !== undefined && kindOf(value) !== type) return `${name}: expected ${type}, got ${kindOf(value)}`;
  }
  return undefined;
}

/** The largest values of whole numbers. */
const LARGEST = { port: 65_535, metricsPort: 65_535, drainSeconds: 3600 } as const;

function rangeFault(settings: OperatorSettings, shownAs: (name: string) => string): string | undefined {
  for (const [name, largest] of Object.entries(LARGEST)) {
    const value = settings[name as keyof typeof LARGEST];
    if (value !== undefined && !(Number.isInteger(value) && value >= 0 && value <= largest))
      return `${shownAs(name)}: expected a whole number from 0 to ${largest}, got ${value}`;
  }
  return undefined;
}

/** The values of `--log-level`. */
export const LOG_LEVELS = ['info', 'warn', 'error', 'silent'];

async function readOption(option: string, file: string): Promise<Buffer> {
  return readFile(file).catch((error) => {
    throw unreadable(file, error, option);
  });
}

async function readConfig(file: string | undefined, io: Io): Promise<OperatorSettings> {
  if (file === undefined) return {};
  const text = decodeText(await readOption('--config', file), `--config: ${shownPath(file)}`);
  const config = await parseJson(text, file, '--config');
  const kind = kindOf(config);
  if (kind !== 'object') throw new TypeError(`--config: expected a JSON object, got ${kind}`);
  const settings = config as OperatorSettings;
  for (const name of Object.keys(settings))
    if (!Object.hasOwn(CONFIG_NAMES, name))
      throw new RangeError(
        `--config: expected one of ${Object.keys(CONFIG_NAMES).join(', ')}, got ${JSON.stringify(name)}`,
      );
  if (SECRET_NAMES.some((name) => name in settings)) await warnIfReadableByOthers(file, io, '--config');
  const { logLevel } = settings;
  const fault =
    typesFault(settings) ??
    rangeFault(settings, (name) => name) ??
    (logLevel === undefined ? undefined : choiceFault('logLevel', LOG_LEVELS, logLevel));
  if (fault) throw new RangeError(fault);
  return settings;
}

const PRINTABLE = /^[\x20-\x7e]*$/;

/** Raw 32 bytes, or base64 or hexadecimal text. */
async function readSecret(file: string, isProduction: boolean, io: Io): Promise<Uint8Array | string> {
  await warnIfReadableByOthers(file, io, '--root-secret-file');
  const content = await readOption('--root-secret-file', file);
  // 32 random bytes are never all printable, so this is text, such as 16 bytes in hexadecimal.
  if (isProduction && content.length === 32 && PRINTABLE.test(content.toString('latin1')))
    throw new RangeError(
      '--root-secret-file: expected 32 random bytes or their base64, as "openssl rand -base64 32" generates them, got 32 printable characters, which contain fewer random bits',
    );
  return content.length === 32 ? Uint8Array.from(content) : content.toString('utf8').trim();
}

function withoutUndefined<T extends object>(settings: T): Partial<T> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)) as Partial<T>;
}

const CREDENTIAL_VARIABLES = { apiKey: 'TESSERA_API_KEY', clientSecret: 'TESSERA_CLIENT_SECRET' } as const;

/** The variables of the environment that the command line does not override. */
function usedVariables(environment: OperatorSettings, named: OperatorSettings): readonly string[] {
  return (['apiKey', 'clientSecret'] as const)
    .filter((name) => environment[name] !== undefined && named[name] === undefined)
    .map((name) => CREDENTIAL_VARIABLES[name]);
}

/**
 * Collect the settings of an operator. Credentials in the environment may add a participant, but never change a stored one.
 *
 * @throws {RangeError} for a number out of range, a file that cannot be read, or an unknown name or a wrong value in the `--config`
 *   file.
 */
export async function loadSettings(flags: OperatorCommandOptions, io: Io): Promise<OperatorSettings> {
  const { config, ...named } = flags;
  const { env } = io;
  const fault = rangeFault(named, flagOf);
  if (fault) throw new RangeError(fault);
  if (named.apiKey !== undefined) warnAboutSecret('--api-key', io);
  if (named.clientSecret !== undefined) warnAboutSecret('--client-secret', io);
  warnAboutPassword(named.database, io);
  const environment: OperatorSettings = {
    apiKey: env[CREDENTIAL_VARIABLES.apiKey] || undefined,
    clientSecret: env[CREDENTIAL_VARIABLES.clientSecret] || undefined,
    rootSecret: env.TESSERA_ROOT_SECRET || undefined,
  };
  // A secret in the environment takes precedence over a file that is specified only in the configuration file.
  const { rootSecretFile, ...rest } = await readConfig(config, io);
  const secretFile = named.rootSecretFile ?? (environment.rootSecret ? undefined : rootSecretFile);
  const merged: OperatorSettings = { ...rest, ...withoutUndefined(environment), ...named };
  await warnIfWritableByOthers(merged.database, io);
  // A list of participants is complete, unless there is also an API key.
  const isUsed = merged.participants === undefined || merged.apiKey !== undefined;
  const credentialVariables = isUsed ? usedVariables(environment, named) : [];
  const settings: OperatorSettings = {
    ...merged,
    // A shell may contain the credentials of a participant for its own calls. They are not a request to change that participant.
    ...(credentialVariables.length > 0 && { keepStoredParticipant: true, credentialVariables }),
  };
  return secretFile === undefined
    ? settings
    : { ...settings, rootSecret: await readSecret(secretFile, settings.environment === 'production', io) };
}
