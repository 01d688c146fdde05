/// <reference types="node" />
/** The command `participants`. Standard output contains a generated API key and client secret once. No list contains them. */

import { Command } from 'commander';
import type { GivenCredentials, ListedParticipant, Role } from '../../operator/index.ts';
import { parseNumber, parseRoles } from '../input/options.ts';
import type { Io } from '../io.ts';
import { warnAboutSecret } from '../service/service-options.ts';
import { addDatabaseOptions, administer, formatTime, type OperatorDatabaseOptions, printRows } from './database.ts';
import { exportLines } from './env-file.ts';

/** Enough digits to be unique. The whole hash is longer than a line. */
const ID_DIGITS = 16;

function rowOf({ keyHash, siteId, roles, addedAt, revokedAt }: ListedParticipant) {
  return { id: keyHash.slice(0, ID_DIGITS), siteId, roles, addedAt, revokedAt };
}

function printParticipants(participants: readonly ListedParticipant[], flags: OperatorDatabaseOptions, io: Io): void {
  printRows(
    participants.map(rowOf),
    ['id', 'site', 'roles', 'added', 'revoked'],
    ({ id, siteId, roles, addedAt, revokedAt }) => [
      id,
      `${siteId}`,
      roles.join(',') || '-',
      formatTime(addedAt),
      formatTime(revokedAt),
    ],
    flags,
    io,
  );
}

function listCommand(io: Io): Command {
  return addDatabaseOptions(new Command('list').description('list the participants')).action(
    async (flags: OperatorDatabaseOptions) =>
      administer(flags, io, async ({ participants }) => printParticipants(await participants.list(), flags, io)),
  );
}

interface CredentialFlags extends OperatorDatabaseOptions {
  readonly siteId?: number;
  readonly roles?: Role[];
  readonly clientSecret?: string;
}
interface AddFlags extends CredentialFlags {
  readonly apiKey?: string;
  readonly fromEnv?: boolean;
}

/** Environment variables usually identify the participant that calls a service, so they are used here only with `--from-env`. */
function givenCredentials(flags: AddFlags, { env }: Io): GivenCredentials {
  const { siteId, roles, apiKey, clientSecret, fromEnv } = flags;
  const variable = (name: string) => (fromEnv ? env[name] || undefined : undefined);
  const given = {
    siteId,
    roles,
    apiKey: apiKey ?? variable('TESSERA_API_KEY'),
    clientSecret: clientSecret ?? variable('TESSERA_CLIENT_SECRET'),
  };
  if (fromEnv && given.apiKey === undefined)
    throw new RangeError('--from-env: expected TESSERA_API_KEY in the environment, got none');
  return given;
}

/** Print a participant, and the credentials that were generated for it. Credentials that the user passed are known already. */
function printGenerated(
  { keyHash, siteId, roles }: Pick<ListedParticipant, 'keyHash' | 'siteId' | 'roles'>,
  generated: { readonly apiKey?: string; readonly clientSecret?: string },
  { json }: OperatorDatabaseOptions,
  { out }: Io,
): void {
  const id = keyHash.slice(0, ID_DIGITS);
  if (json) {
    out(JSON.stringify({ id, siteId, roles, ...generated }));
    return;
  }
  out(`# participant ${id}, site ${siteId}, roles ${roles.join(',') || 'none'}`);
  const { apiKey, clientSecret } = generated;
  const lines = exportLines({
    ...(apiKey !== undefined && { TESSERA_API_KEY: apiKey }),
    ...(clientSecret !== undefined && { TESSERA_CLIENT_SECRET: clientSecret }),
  });
  for (const line of lines) out(line);
}

function addCommand(io: Io): Command {
  return addDatabaseOptions(
    new Command('add').description('add a participant and print the credentials that were generated for it'),
    'print one line of JSON',
  )
    .option('--site-id <id>', 'its site ID (default: 101)', parseNumber)
    .option('--roles <list>', 'its roles, separated by commas (default: GENERATOR,MAPPER)', parseRoles)
    .option('--api-key <key>', 'its API key (default: generated at random)')
    .option('--client-secret <secret>', 'its client secret (default: generated at random)')
    .option('--from-env', 'read both from TESSERA_API_KEY and TESSERA_CLIENT_SECRET')
    .action(async (flags: AddFlags) => {
      if (flags.apiKey !== undefined) warnAboutSecret('--api-key', io);
      if (flags.clientSecret !== undefined) warnAboutSecret('--client-secret', io);
      const given = givenCredentials(flags, io);
      await administer(flags, io, async ({ participants }) => {
        const { apiKey, clientSecret, ...added } = await participants.add(given);
        const generated = {
          ...(given.apiKey === undefined && { apiKey }),
          ...(given.clientSecret === undefined && { clientSecret }),
        };
        printGenerated(added, generated, flags, io);
      });
    });
}

function updateCommand(io: Io): Command {
  return addDatabaseOptions(
    new Command('update').description('change a participant; omitted options change nothing'),
    'print one line of JSON',
  )
    .argument('<id>', 'its ID as `list` prints it, or the first 8 or more digits')
    .option('--site-id <id>', 'another site ID', parseNumber)
    .option('--roles <list>', 'other roles, separated by commas', parseRoles)
    .option('--client-secret <secret>', 'another client secret')
    .option('--new-secret', 'generate a client secret at random and print it')
    .action(async (id: string, flags: CredentialFlags & { readonly newSecret?: boolean }) => {
      const { siteId, roles, clientSecret, newSecret } = flags;
      if (clientSecret !== undefined) warnAboutSecret('--client-secret', io);
      if ([siteId, roles, clientSecret, newSecret].every((change) => change === undefined))
        throw new RangeError('expected --site-id, --roles, --client-secret or --new-secret, got none of them');
      await administer(flags, io, async ({ participants }) => {
        const changed = await participants.update(id, { siteId, roles, clientSecret, newSecret });
        printGenerated(changed, newSecret ? { clientSecret: changed.clientSecret } : {}, flags, io);
      });
    });
}

function revokeCommand(io: Io): Command {
  return addDatabaseOptions(new Command('revoke').description('revoke participants permanently'))
    .argument('<id...>', 'their IDs as `list` prints them, or the first 8 or more digits')
    .action(async (ids: string[], flags: OperatorDatabaseOptions) =>
      administer(flags, io, async ({ participants }) => printParticipants(await participants.revoke(ids), flags, io)),
    );
}

export function participantsCommand(io: Io): Command {
  const participants = new Command('participants').description(
    'list, add, update or revoke the participants of an operator',
  );
  for (const create of [listCommand, addCommand, updateCommand, revokeCommand]) participants.addCommand(create(io));
  return participants;
}
