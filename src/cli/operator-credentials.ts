/**
 * The credentials that `tessera operator` gives out: those that it has made, at the start that has made them, as lines for a
 * shell or in a file. A later start shows no secret, since its output may end in a log.
 */

import type { Operator, ParticipantStatus } from '../operator/index.ts';
import { exportLines, type Variables, writeEnvFile } from './env-file.ts';
import type { Io } from './io.ts';
import { shownPath } from './paths.ts';

/** The options of the command that say where credentials go. */
export interface CredentialOutput {
  /** Write address and credentials to this file. */
  readonly envFile?: string | undefined;
  /** Print made credentials at every start. */
  readonly printCredentials?: boolean | undefined;
  /** Say nothing of credentials that this start has not made. */
  readonly onlyAdded?: boolean | undefined;
}

type Credentials = Operator['made'][number];

const addressOf = (url: string): Variables => ({
  // From this machine, an operator on all addresses is called on its loopback address.
  TESSERA_BASE_URL: url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:'),
});
const variablesOf = (url: string, { apiKey, clientSecret }: Credentials): Variables => ({
  ...addressOf(url),
  TESSERA_API_KEY: apiKey,
  TESSERA_CLIENT_SECRET: clientSecret,
});

/** Why a participant's credentials are not shown, and how to get some. */
const hintOf = (status: ParticipantStatus): string => {
  if (status === 'changed') return 'changed since it was added; use the credentials of that change';
  if (status === 'revoked') return 'revoked; "tessera participants add" adds another';
  return 'credentials were generated at an earlier start and are not printed again; --print-credentials prints them, "tessera participants add" generates others';
};

const isInForce = (status: ParticipantStatus): boolean => status === 'added' || status === 'kept';

/** Write the first participant to the file. Nothing that is no longer in force replaces what a user has put there. */
const writeFirst = async ({ participants, statuses }: Operator, url: string, envFile: string, { out }: Io) => {
  const [first] = participants;
  const [status] = statuses;
  const isWritten = first && isInForce(status!);
  await writeEnvFile(envFile, isWritten ? variablesOf(url, first) : addressOf(url));
  out(`# address${isWritten ? ` and credentials of site ${first.siteId} are` : ' is'} in ${shownPath(envFile)}`);
  if (first && !isWritten) out(`# site ${first.siteId}: ${hintOf(status!)}`);
};

/**
 * Print or write the credentials that this start has made, and say of others where they are.
 *
 * @throws {RangeError} if the file cannot be written.
 */
export async function announceCredentials(
  operator: Operator,
  url: string,
  { envFile, printCredentials, onlyAdded }: CredentialOutput,
  io: Io,
): Promise<void> {
  const { participants, made, statuses } = operator;
  if (envFile !== undefined) await writeFirst(operator, url, envFile, io);
  for (const [index, credentials] of participants.entries()) {
    if (!made.includes(credentials) || (index === 0 && envFile !== undefined)) continue;
    const { siteId, roles } = credentials;
    const status = statuses[index]!;
    // In memory, each start adds them.
    const isFirstTime = envFile === undefined && status === 'added';
    if (!(isFirstTime || (printCredentials && isInForce(status)))) {
      if (!onlyAdded) io.out(`# site ${siteId}: ${hintOf(status)}`);
      continue;
    }
    io.out(`# site ${siteId}, roles ${roles.join(',')}`);
    for (const line of exportLines(variablesOf(url, credentials))) io.out(line);
  }
}
