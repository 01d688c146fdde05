/**
 * `tessera operator`: serves an operator on a port until a signal stops it.
 *
 * Standard output carries created credentials, as lines for a shell, and one line when the port is open. Everything else goes
 * to standard error.
 */

import { pino } from 'pino';
import { createOperator, type Operator } from '../operator/index.ts';
import { type Listening, listen } from '../operator/node.ts';
import { isLoopback } from '../token/checks.ts';
import { checkEnvFile } from './env-file.ts';
import type { Io } from './io.ts';
import { announceCredentials, type CredentialOutput } from './operator-credentials.ts';
import type { OperatorSettings } from './operator-settings.ts';

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

const warnAboutHost = (host: string, { err }: Io): void => {
  if (isLoopback(host) || host === '::1') return;
  err(
    'warning: --host: other machines reach this port by plain http; put a proxy with TLS in front (docs/operator.md, "In production")',
  );
};

/**
 * Serve until a signal stops the process.
 *
 * @param output  where credentials go.
 * @param wrap    returns what answers the requests of the service, given the operator. Default: the operator itself.
 */
export async function serve(
  settings: OperatorSettings,
  output: CredentialOutput,
  io: Io,
  wrap: (operator: Operator) => Pick<Operator, 'fetch'> = (operator) => operator,
): Promise<void> {
  const { port = 8080, host = '127.0.0.1', metricsPort, trustProxy, logLevel = 'info', ...rest } = settings;
  const { rootSecretFile: _, processes: __, ...options } = rest;
  warnAboutHost(host, io);
  if (output.envFile !== undefined) await checkEnvFile(output.envFile);
  // Without host name and PID, which log collectors add.
  const logger = pino({ base: null, level: logLevel }, { write: (line) => io.err(line.trimEnd()) });
  const operator = createOperator({
    ...(metricsPort !== undefined && { publicMetrics: false }),
    ...options,
    logger,
  });
  if (operator.inMemory) {
    if (options.rootSecret === undefined)
      io.err(
        'warning: expected a root secret, got none: a random one is used, so IDs, keys and tokens end with this process',
      );
    io.err('warning: opt-outs are kept in memory and end with this process');
  }
  const servers: Listening[] = [];
  try {
    await operator.ready;
    const service = await listen(wrap(operator), { port, host, ...(trustProxy !== undefined && { trustProxy }) }).catch(
      (error) => {
        throw listenError(error, host, port);
      },
    );
    servers.push(service);
    if (metricsPort !== undefined) {
      const metrics = await listen(operator.metrics, { port: metricsPort, host }).catch((error) => {
        throw listenError(error, host, metricsPort);
      });
      servers.push(metrics);
      io.out(`metrics on ${metrics.url}/metrics`);
    }
    await announceCredentials(operator, service.url, output, io);
    io.out(`listening on ${service.url}`);
  } catch (error) {
    await Promise.all(servers.map((server) => server.close()));
    // Releases the lock of a database folder.
    await operator.close();
    throw error;
  }
  await io.stopped();
  await Promise.all(servers.map((server) => server.close()));
  await operator.close();
}
