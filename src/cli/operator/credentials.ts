/**
 * Prints the credentials that `tessera operator` generates, at the start that generates them, as lines for a shell or into a
 * file, and where others come from. A later start shows no secret, because its output may be logged.
 */

import type { Operator, ParticipantStatus } from '../../operator/index.ts';
import { shownPath } from '../input/paths.ts';
import type { Io } from '../io.ts';
import { exportLines, type Variables, writeEnvFile } from './env-file.ts';

export interface CredentialOutput {
  /** Write address and credentials to this file instead of printing them. */
  readonly envFile?: string | undefined;
  readonly printCredentials?: boolean | undefined;
}

interface CredentialSource extends CredentialOutput {
  /** The variables that the credentials of the last participant come from. */
  readonly credentialVariables?: readonly string[] | undefined;
}

type Credentials = Operator['generated'][number];

function addressOf(url: string): Variables {
  // An operator that listens on all addresses is reached from this machine by its loopback address.
  return { TESSERA_BASE_URL: url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:') };
}

function variablesOf(url: string, { apiKey, clientSecret }: Credentials): Variables {
  return { ...addressOf(url), TESSERA_API_KEY: apiKey, TESSERA_CLIENT_SECRET: clientSecret };
}

const NOT_AGAIN =
  'credentials were generated at an earlier start and are not printed again; --print-credentials prints them, "tessera participants add" generates others';

interface Status {
  readonly isInForce: boolean;
  /** In place of credentials. */
  readonly hint: string;
  /** About credentials from the environment. */
  readonly note?: string;
}

const STATUSES: Readonly<Record<ParticipantStatus, Status>> = {
  added: { isInForce: true, hint: NOT_AGAIN },
  kept: { isInForce: true, hint: NOT_AGAIN },
  changed: {
    isInForce: false,
    hint: 'changed since it was added; use the credentials from that change',
    note: 'the stored participant differs and stays in force',
  },
  revoked: {
    isInForce: false,
    hint: 'revoked; "tessera participants add" adds another',
    note: 'this participant is revoked',
  },
};

/** Write the first participant to the file. Credentials that are no longer in force never replace what a user has put there. */
async function writeFirst({ participants, statuses }: Operator, url: string, envFile: string, { out }: Io) {
  const [first] = participants;
  const [status] = statuses;
  const isWritten = first && STATUSES[status!].isInForce;
  await writeEnvFile(envFile, isWritten ? variablesOf(url, first) : addressOf(url));
  out(`# address${isWritten ? ` and credentials of site ${first.siteId} are` : ' is'} in ${shownPath(envFile)}`);
  if (first && !isWritten) out(`# site ${first.siteId}: ${STATUSES[status!].hint}`);
}

/**
 * Where the credentials of a participant come from if this start has not generated all of them: a shell may contain those of
 * another operator. Undefined if the options specify the participant and the database contains it.
 */
function originOf(
  { participants, statuses, inMemory }: Operator,
  index: number,
  isGenerated: boolean,
  { credentialVariables = [] }: CredentialSource,
): string | undefined {
  const status = statuses[index]!;
  const isFromEnvironment = index === participants.length - 1 && credentialVariables.length > 0;
  // Credentials of which this start has generated a part are generated, too.
  const isGiven = isFromEnvironment || !isGenerated;
  const added = status === 'added' && !inMemory && isGiven ? 'participant added to the database' : undefined;
  if (!isFromEnvironment) return added;
  const note = added ?? STATUSES[status].note;
  return `credentials from ${credentialVariables.join(' and ')} in the environment${note === undefined ? '' : `; ${note}`}`;
}

/** @throws {RangeError} if the file cannot be written. */
export async function announceCredentials(
  operator: Operator,
  url: string,
  source: CredentialSource,
  io: Io,
): Promise<void> {
  const { participants, statuses } = operator;
  // Once, because the operator finds them among all participants.
  const generated = new Set(operator.generated);
  const { envFile, printCredentials } = source;
  if (envFile !== undefined) await writeFirst(operator, url, envFile, io);
  for (const [index, credentials] of participants.entries()) {
    const isGenerated = generated.has(credentials);
    const origin = originOf(operator, index, isGenerated, source);
    // Not to standard output, whose first line is `listening on` if nothing was generated.
    if (origin !== undefined) io.err(`site ${credentials.siteId}: ${origin}`);
    if (!isGenerated || (index === 0 && envFile !== undefined)) continue;
    const { siteId, roles } = credentials;
    const status = statuses[index]!;
    // In memory, every start adds them.
    const isFirstTime = envFile === undefined && status === 'added';
    if (!(isFirstTime || (printCredentials && STATUSES[status].isInForce))) {
      io.out(`# site ${siteId}: ${STATUSES[status].hint}`);
      continue;
    }
    io.out(`# site ${siteId}, roles ${roles.join(',')}`);
    for (const line of exportLines(variablesOf(url, credentials))) io.out(line);
  }
}
