/// <reference types="node" />
/**
 * The settings of `tessera operator`: the command line takes precedence over the environment, and that over the `--config` file.
 */

import { readFile } from 'node:fs/promises';
import type { OperatorOptions } from '../../operator/index.ts';
import { checkOptions, type OptionRow } from '../../operator/options/checks.ts';
import { OPTIONS } from '../../operator/options/table.ts';
import { kindOf } from '../../token/checks.ts';
import { warnIfWritableByOthers } from '../input/existing-database.ts';
import { decodeText, warnIfReadableByOthers } from '../input/input.ts';
import { parseJson, shownPath, unreadable } from '../input/paths.ts';
import type { Io } from '../io.ts';
import { warnAboutPassword, warnAboutSecret } from '../service/service-options.ts';

const PORT = { kind: 'whole', range: [0, 65_535], value: 'port' } as const;

export const COMMAND_OPTIONS = {
  port: { ...PORT, default: 8080, help: 'port to listen on, 0 for any free port' },
  host: { kind: 'string', default: '127.0.0.1', value: 'host', help: 'address to listen on' },
  rootSecretFile: {
    kind: 'string',
    variable: OPTIONS.rootSecret.variable,
    unset: 'generated, and stored in the database',
    value: 'file',
    help: 'file with the root secret: 32 bytes, or their base64 or hexadecimal',
  },
  metricsPort: { ...PORT, unset: 'the port of the service', help: 'separate port for /metrics, 0 for any free port' },
  drainSeconds: {
    kind: 'whole',
    range: [0, 3600],
    default: 0,
    value: 'seconds',
    help: 'after a signal, answer requests for this long while the health check answers 503',
  },
  trustProxy: { kind: 'boolean', help: 'read client addresses from X-Forwarded-For, which the proxy in front sets' },
  logLevel: {
    kind: 'choice',
    choices: ['info', 'warn', 'error', 'silent'],
    default: 'info',
    value: 'level',
    help: 'log level; logs are JSON lines on standard error',
  },
} as const satisfies Readonly<Record<string, OptionRow>>;

type ValueOf<Kind> = Kind extends 'whole' ? number : Kind extends 'boolean' ? boolean : string;
type CommandOptions = {
  readonly [name in keyof typeof COMMAND_OPTIONS]?: ValueOf<(typeof COMMAND_OPTIONS)[name]['kind']>;
};

/** The settings. Durations are in seconds. */
export interface OperatorSettings extends Omit<OperatorOptions, 'now' | 'state' | 'logger'>, CommandOptions {
  readonly credentialVariables?: readonly string[];
}

const { port, host, ...others } = COMMAND_OPTIONS;
/** All options, in the order of the help. A member of the `--config` file has the same name. */
export const ALL_OPTIONS: Readonly<Record<string, OptionRow>> = { port, host, ...OPTIONS, ...others };

export function operatorOptions(settings: OperatorSettings): OperatorOptions {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => Object.hasOwn(OPTIONS, name)));
}

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
  const members = Object.keys(ALL_OPTIONS).filter((name) => !ALL_OPTIONS[name]!.isProgramOnly);
  for (const name of Object.keys(settings))
    if (!members.includes(name))
      throw new RangeError(`--config: expected one of ${members.join(', ')}, got ${JSON.stringify(name)}`);
  if (Object.keys(settings).some((name) => ALL_OPTIONS[name]!.isSecret))
    await warnIfReadableByOthers(file, io, '--config');
  checkOptions(ALL_OPTIONS, settings);
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

/** The options that the environment contains. An empty variable is none. */
function fromEnvironment(env: Io['env']): OperatorSettings {
  const found = Object.entries<OptionRow>(OPTIONS).flatMap(([name, { variable = '' }]) =>
    env[variable] ? [[name, env[variable]]] : [],
  );
  return Object.fromEntries(found);
}

/**
 * Credentials in the environment may add a participant, but never change a stored one. @throws {TypeError | RangeError} for a
 * file that cannot be read, or an unknown name or a wrong value in the `--config` file.
 */
export async function loadSettings(
  flags: OperatorSettings & { readonly config?: string },
  io: Io,
): Promise<OperatorSettings> {
  const { config, ...named } = flags;
  if (named.apiKey !== undefined) warnAboutSecret('--api-key', io);
  if (named.clientSecret !== undefined) warnAboutSecret('--client-secret', io);
  warnAboutPassword(named.database, io);
  const environment = fromEnvironment(io.env);
  // A secret in the environment takes precedence over a file that is specified only in the configuration file.
  const { rootSecretFile, ...rest } = await readConfig(config, io);
  const secretFile = named.rootSecretFile ?? (environment.rootSecret ? undefined : rootSecretFile);
  const merged: OperatorSettings = { ...rest, ...environment, ...named };
  await warnIfWritableByOthers(merged.database, io);
  // A list of participants is complete, unless there is also an API key.
  const isUsed = merged.participants === undefined || merged.apiKey !== undefined;
  const credentialVariables = (['apiKey', 'clientSecret'] as const)
    .filter((name) => isUsed && environment[name] !== undefined && named[name] === undefined)
    .map((name) => OPTIONS[name].variable);
  const settings: OperatorSettings = {
    ...merged,
    // A shell may contain the credentials of a participant for its own calls. They are not a request to change that participant.
    ...(credentialVariables.length > 0 && { keepStoredParticipant: true, credentialVariables }),
  };
  return secretFile === undefined
    ? settings
    : { ...settings, rootSecret: await readSecret(secretFile, settings.environment === 'production', io) };
}
