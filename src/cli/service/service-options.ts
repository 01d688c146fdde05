/// <reference types="node" />
/** The common part of all commands that call the service: the options for address and credentials, the client, and the output. */

import { readFile } from 'node:fs/promises';
import { parseEnv } from 'node:util';
import { Command } from 'commander';
import { type Client, type ClientOptions, createClient } from '../../server/index.ts';
import { decodeText } from '../input/input.ts';
import { shownPath, unreadable } from '../input/paths.ts';
import type { Io } from '../io.ts';
import { warn } from '../output/style.ts';

export interface ServiceOptions {
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly clientSecret?: string;
  readonly env?: string;
  readonly json?: boolean;
}

export function serviceCommand(name: string, description: string, json: string): Command {
  return new Command(name)
    .description(description)
    .option('--base-url <url>', 'address of the service (TESSERA_BASE_URL)')
    .option('--api-key <key>', 'API key of the participant (TESSERA_API_KEY)')
    .option('--client-secret <secret>', 'client secret of the participant, base64 of 32 bytes (TESSERA_CLIENT_SECRET)')
    .option('--env-file, --env <file>', 'file with these three variables, as written by tessera operator --env')
    .option('--json', json);
}

export function warnAboutSecret(flag: string, io: Io): void {
  warn(`${flag} on the command line: every user of this machine can read it; use the environment instead`, io);
}

export function warnAboutPassword(database: string | undefined, io: Io): void {
  if (/^[a-z]+:\/\/(?:[^/]*:[^/]*@|.*[?&]password=)/i.test(database ?? ''))
    warn('every user of this machine can read the password in --database; use PGPASSWORD instead', io);
}

/** One `NAME=value` per line. Throws a {@link RangeError} for a file that cannot be read, is not text or has no variable. */
export async function readEnvFile(file: string): Promise<Record<string, string | undefined>> {
  const bytes = await readFile(file).catch((error) => {
    throw unreadable(file, error, '--env');
  });
  const source = `--env: ${shownPath(file)}`;
  const variables = parseEnv(decodeText(bytes, source)) as Record<string, string | undefined>;
  if (Object.keys(variables).length > 0) return variables;
  throw new RangeError(
    `${source}: expected lines such as ${SOURCES.baseUrl[1]}=https://operator.example, got no variable`,
  );
}

const SOURCES = {
  baseUrl: ['--base-url', 'TESSERA_BASE_URL'],
  apiKey: ['--api-key', 'TESSERA_API_KEY'],
  clientSecret: ['--client-secret', 'TESSERA_CLIENT_SECRET'],
} as const;

export type Connection = Pick<ClientOptions, keyof typeof SOURCES>;

/** Options take precedence over the environment. Throws a {@link RangeError} if address, key or secret is missing. */
export function connectionOf(flags: ServiceOptions, io: Io): Connection {
  if (flags.apiKey !== undefined) warnAboutSecret('--api-key', io);
  if (flags.clientSecret !== undefined) warnAboutSecret('--client-secret', io);
  const given = (name: keyof typeof SOURCES): string => {
    const [flag, variable] = SOURCES[name];
    const found = flags[name] ?? io.env[variable];
    if (found) return found;
    throw new RangeError(
      `${flag}: expected this option, or ${variable} in the environment or in the --env file, got none`,
    );
  };
  return { baseUrl: given('baseUrl'), apiKey: given('apiKey'), clientSecret: given('clientSecret') };
}

/** Throws a {@link TypeError} that names the option or variable of a malformed address, key or secret, without its value. */
export function createConnected(
  connection: Connection,
  flags: ServiceOptions,
  options: Partial<ClientOptions> = {},
): Client {
  try {
    return createClient({ ...connection, ...options });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const message = error.message
      .replace(/^(baseUrl|apiKey|clientSecret)(?=:)/, (name) => {
        const [flag, variable] = SOURCES[name as keyof typeof SOURCES];
        return flags[name as keyof typeof SOURCES] === undefined ? variable : flag;
      })
      // The command line does not have that option.
      .replace('for localhost, or with allowInsecure: true', 'for this machine');
    throw new TypeError(message);
  }
}

export function clientOf(flags: ServiceOptions, io: Io): Client {
  return createConnected(connectionOf(flags, io), flags);
}

export function print(answer: unknown, { json }: ServiceOptions, { out }: Io): void {
  out(JSON.stringify(answer, undefined, json ? 0 : 2));
}
