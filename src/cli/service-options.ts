/// <reference types="node" />
/**
 * What all verbs that call the service share: the options for address and credentials, the client, and the output.
 */

import { Command } from 'commander';
import { type Client, createClient } from '../server/index.ts';
import type { Io } from './io.ts';

/** The options of every verb that calls the service. */
export interface ServiceOptions {
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly clientSecret?: string;
  readonly json?: boolean;
}

/** Create a verb with these options. `json` is the help text of `--json`. */
export function serviceVerb(name: string, description: string, json: string): Command {
  return new Command(name)
    .description(description)
    .option('--base-url <url>', 'address of the service (TESSERA_BASE_URL)')
    .option('--api-key <key>', 'API key of the participant (TESSERA_API_KEY)')
    .option('--client-secret <secret>', 'client secret of the participant, base64 of 32 bytes (TESSERA_CLIENT_SECRET)')
    .option('--json', json);
}

/** Warn about a secret on the command line. */
export function warnAboutSecret(flag: string, { err }: Io): void {
  err(`warning: ${flag} on the command line can be read by every user of this machine; prefer the environment`);
}

/** Warn about a password in `--database`. */
export function warnAboutPassword(database: string | undefined, { err }: Io): void {
  if (/^[a-z]+:\/\/[^/]*:[^/]*@/i.test(database ?? ''))
    err('warning: the password in --database can be read by every user of this machine; prefer PGPASSWORD');
}

/**
 * Create the client for the options and the environment; options take precedence.
 *
 * @throws {RangeError} if the address, the key or the secret is missing.
 * @throws {TypeError} if one of them is wrong. The message does not quote it.
 */
export function clientOf(flags: ServiceOptions, io: Io): Client {
  if (flags.apiKey !== undefined) warnAboutSecret('--api-key', io);
  if (flags.clientSecret !== undefined) warnAboutSecret('--client-secret', io);
  const given = (value: string | undefined, flag: string, name: string): string => {
    const found = value ?? io.env[name];
    if (!found) throw new RangeError(`${flag}: expected this option or ${name} in the environment, got neither`);
    return found;
  };
  return createClient({
    baseUrl: given(flags.baseUrl, '--base-url', 'TESSERA_BASE_URL'),
    apiKey: given(flags.apiKey, '--api-key', 'TESSERA_API_KEY'),
    clientSecret: given(flags.clientSecret, '--client-secret', 'TESSERA_CLIENT_SECRET'),
  });
}

/** Print one answer as JSON: indented, or on one line with `--json`. */
export function print(answer: unknown, { json }: ServiceOptions, { out }: Io): void {
  out(JSON.stringify(answer, undefined, json ? 0 : 2));
}
