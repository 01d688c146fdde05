/// <reference types="node" />
/**
 * What the verbs that ask a service have in common: where it is, who asks, and how the answer is printed.
 */

import { Command } from 'commander';
import { type Client, createClient } from '../server/index.ts';
import type { Io } from './io.ts';

/** The options of every verb that asks a service. */
export interface ServiceFlags {
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly clientSecret?: string;
  readonly json?: boolean;
}

/** A verb with the options that all have; `json` says what `--json` changes. */
export function serviceVerb(name: string, description: string, json: string): Command {
  return new Command(name)
    .description(description)
    .option('--base-url <url>', 'where the service is (TESSERA_BASE_URL)')
    .option('--api-key <key>', 'API key of the participant (TESSERA_API_KEY)')
    .option('--client-secret <secret>', 'its secret, base64 of 32 bytes (TESSERA_CLIENT_SECRET)')
    .option('--json', json);
}

/** Warn of a secret among the arguments. */
export function warnOf(flag: string, { err }: Io): void {
  err(`warning: ${flag} on the command line can be read by every user of this machine; prefer the environment`);
}

/** Warn of a password in the place of a database. */
export function warnOfPassword(database: string | undefined, { err }: Io): void {
  if (/^[a-z]+:\/\/[^/]*:[^/]*@/i.test(database ?? ''))
    err('warning: the password in --database can be read by every user of this machine; prefer PGPASSWORD');
}

/**
 * The client that the options and the environment describe; what the line says goes first.
 *
 * @throws {RangeError} one of the three is missing.
 * @throws {TypeError} one of them is wrong; it is not shown.
 */
export function clientOf(flags: ServiceFlags, io: Io): Client {
  if (flags.apiKey !== undefined) warnOf('--api-key', io);
  if (flags.clientSecret !== undefined) warnOf('--client-secret', io);
  const given = (value: string | undefined, flag: string, name: string): string => {
    const found = value ?? io.env[name];
    if (!found) throw new RangeError(`${flag}: expected it, or ${name} in the environment, got neither`);
    return found;
  };
  return createClient({
    baseUrl: given(flags.baseUrl, '--base-url', 'TESSERA_BASE_URL'),
    apiKey: given(flags.apiKey, '--api-key', 'TESSERA_API_KEY'),
    clientSecret: given(flags.clientSecret, '--client-secret', 'TESSERA_CLIENT_SECRET'),
  });
}

/** Print one answer: over several lines for people, on one for machines. */
export function print(answer: unknown, { json }: ServiceFlags, { out }: Io): void {
  out(JSON.stringify(answer, undefined, json ? 0 : 2));
}
