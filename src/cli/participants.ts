/// <reference types="node" />
/**
 * The verb `participants`: lists, adds and revokes those who may call an operator, in its database.
 *
 * Standard output carries the client secret and the API key of an added participant, once, as lines for a shell. No list
 * contains them.
 */

import { Command } from 'commander';
import type { GivenCredentials, ListedParticipant, Role } from '../operator/index.ts';
import { exportLines } from './env-file.ts';
import type { Io } from './io.ts';
import { parseNumber, parseRoles } from './operator.ts';
import {
  addDatabaseOptions,
  administer,
  formatTime,
  type OperatorDatabaseOptions,
  printRows,
} from './operator-database.ts';
import { warnAboutSecret } from './service-options.ts';

// Enough to be unique: the whole hash is longer than a line.
const ID_DIGITS = 16;

const rowOf = ({ keyHash, siteId, roles, addedAt, revokedAt }: ListedParticipant) => ({
  id: keyHash.slice(0, ID_DIGITS),
  siteId,
  roles,
  addedAt,
  revokedAt,
});

const printParticipants = (participants: readonly ListedParticipant[], flags: OperatorDatabaseOptions, io: Io): void =>
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

const listCommand = (io: Io): Command =>
  addDatabaseOptions(new Command('list').description('list the participants')).action(
    async (flags: OperatorDatabaseOptions) =>
      administer(flags, io, async ({ participants }) => printParticipants(await participants.list(), flags, io)),
  );

interface AddOptions extends OperatorDatabaseOptions {
  readonly siteId?: number;
  readonly roles?: Role[];
  readonly apiKey?: string;
  readonly clientSecret?: string;
}

const givenCredentials = ({ siteId, roles, apiKey, clientSecret }: AddOptions, io: Io): GivenCredentials => {
  if (apiKey !== undefined) warnAboutSecret('--api-key', io);
  if (clientSecret !== undefined) warnAboutSecret('--client-secret', io);
  return {
    siteId,
    roles,
    apiKey: apiKey ?? (io.env['TESSERA_API_KEY'] || undefined),
    clientSecret: clientSecret ?? (io.env['TESSERA_CLIENT_SECRET'] || undefined),
  };
};

const addCommand = (io: Io): Command =>
  addDatabaseOptions(
    new Command('add').description('add a participant and print its credentials, or change one by its API key'),
    'print one line of JSON',
  )
    .option('--site-id <id>', 'its site ID (default: 101 for a new one)', parseNumber)
    .option('--roles <list>', 'its roles, separated by commas (default: GENERATOR,MAPPER for a new one)', parseRoles)
    .option('--api-key <key>', 'its API key (TESSERA_API_KEY; default: made at random)')
    .option('--client-secret <secret>', 'its client secret (TESSERA_CLIENT_SECRET; default: made at random)')
    .action(async (flags: AddOptions) => {
      const given = givenCredentials(flags, io);
      await administer(flags, io, async ({ participants }) => {
        const { keyHash, apiKey, clientSecret, siteId, roles } = await participants.add(given);
        const id = keyHash.slice(0, ID_DIGITS);
        // What was given is known already.
        const made = {
          ...(given.apiKey === undefined && { apiKey }),
          ...(given.clientSecret === undefined && { clientSecret }),
        };
        if (flags.json) return io.out(JSON.stringify({ id, siteId, roles, ...made }));
        io.out(`# participant ${id}, site ${siteId}, roles ${roles.join(',')}`);
        const { apiKey: madeKey, clientSecret: madeSecret } = made;
        const lines = exportLines({
          ...(madeKey !== undefined && { TESSERA_API_KEY: madeKey }),
          ...(madeSecret !== undefined && { TESSERA_CLIENT_SECRET: madeSecret }),
        });
        for (const line of lines) io.out(line);
      });
    });

const revokeCommand = (io: Io): Command =>
  addDatabaseOptions(new Command('revoke').description('revoke participants, for good'))
    .argument('<id...>', 'their IDs as `list` prints them, or the first 8 or more digits')
    .action(async (ids: string[], flags: OperatorDatabaseOptions) =>
      administer(flags, io, async ({ participants }) => printParticipants(await participants.revoke(ids), flags, io)),
    );

/** Create the verb `participants`. */
export function participantsCommand(io: Io): Command {
  const participants = new Command('participants').description('who may call an operator: list, add, revoke');
  for (const verb of [listCommand, addCommand, revokeCommand]) participants.addCommand(verb(io));
  return participants;
}
