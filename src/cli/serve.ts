/**
 * `tessera operator`: serves an operator on a port until a signal stops it.
 *
 * Standard output carries created credentials, as lines for a shell, and one line when the port is open. Everything else goes
 * to standard error.
 */

import { pino } from 'pino';
import { createOperator, type Operator } from '../operator/index.ts';
import { type Listening, listen } from '../operator/node.ts';
import { checkEnvFile, exportLines, type Variables, writeEnvFile } from './env-file.ts';
import type { Io } from './io.ts';
import type { OperatorSettings } from './operator-settings.ts';
import { shownPath } from './paths.ts';

/** Say in words why a port could not be opened. */
const listenError = (error: unknown, host: string, port: number): Error => {
  const { code } = error as NodeJS.ErrnoException;
  const failure = `could not listen on ${host}:${port} (${code})`;
  if (code === 'EADDRINUSE')
    return new Error(`${failure}: another process uses the port; give another with --port, or 0 for any free one`);
  if (code === 'EACCES')
    return new Error(`${failure}: this user may not open the port; give one from 1024 on with --port`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new Error(`${failure}: this machine has no such address; give another with --host`);
  // The range of ports is checked by Node, with a RangeError.
  return error as Error;
};

type Credentials = Operator['made'][number];

const variablesOf = (url: string, { apiKey, clientSecret }: Credentials): Variables => ({
  // From this machine, an operator on all addresses is called on its loopback address.
  TESSERA_BASE_URL: url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:'),
  TESSERA_API_KEY: apiKey,
  TESSERA_CLIENT_SECRET: clientSecret,
});

const announce = async (
  { made, participants }: Operator,
  url: string,
  envFile: string | undefined,
  io: Io,
): Promise<void> => {
  if (envFile !== undefined) {
    await writeEnvFile(envFile, variablesOf(url, participants[0]!));
    io.out(`# address and credentials of site ${participants[0]!.siteId} are in ${shownPath(envFile)}`);
  } else
    for (const credentials of made) {
      io.out(`# site ${credentials.siteId}, roles ${credentials.roles.join(',')}`);
      for (const line of exportLines(variablesOf(url, credentials))) io.out(line);
    }
  io.out(`listening on ${url}`);
};

/** Serve until a signal stops the process. */
export async function serve(settings: OperatorSettings, envFile: string | undefined, io: Io): Promise<void> {
  const { port = 8080, host = '127.0.0.1', logLevel = 'info', rootSecretFile: _, ...options } = settings;
  if (envFile !== undefined) await checkEnvFile(envFile);
  // Without host name and PID, which log collectors add.
  const logger = pino({ base: null, level: logLevel }, { write: (line) => io.err(line.trimEnd()) });
  const operator = createOperator({ ...options, logger });
  if (operator.inMemory) {
    if (options.rootSecret === undefined)
      io.err(
        'warning: expected a root secret, got none: a random one is used, so IDs, keys and tokens end with this process',
      );
    io.err('warning: opt-outs are kept in memory and end with this process');
  }
  let listening: Listening | undefined;
  try {
    await operator.ready;
    listening = await listen(operator, { port, host }).catch((error) => {
      throw listenError(error, host, port);
    });
    await announce(operator, listening.url, envFile, io);
  } catch (error) {
    await listening?.close();
    // Releases the lock of a database folder.
    await operator.close();
    throw error;
  }
  await io.stopped();
  await listening.close();
  await operator.close();
}
