/**
 * `tessera operator`: serves an operator on a port until a signal stops it.
 *
 * Standard output carries created credentials, and one line when the port is open. Everything else goes to standard error.
 */

import { pino } from 'pino';
import { createOperator } from '../operator/index.ts';
import { type Listening, listen } from '../operator/node.ts';
import { isLoopback } from '../token/checks.ts';
import type { Io } from './io.ts';
import type { OperatorSettings } from './operator-settings.ts';

const warnAboutHost = (host: string, { err }: Io): void => {
  if (isLoopback(host) || host === '::1') return;
  err(
    'warning: --host: other machines reach this port by plain http; put a proxy with TLS in front (docs/operator.md, "In production")',
  );
};

/** Serve until a signal stops the process. */
export async function serve(settings: OperatorSettings, io: Io): Promise<void> {
  const { port = 8080, host = '127.0.0.1', metricsPort, trustProxy, logLevel = 'info', ...rest } = settings;
  const { rootSecretFile: _, ...options } = rest;
  warnAboutHost(host, io);
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
    servers.push(await listen(operator, { port, host, ...(trustProxy !== undefined && { trustProxy }) }));
    if (metricsPort !== undefined) servers.push(await listen(operator.metrics, { port: metricsPort, host }));
  } catch (error) {
    await Promise.all(servers.map((server) => server.close()));
    // Releases the lock of a database folder.
    await operator.close();
    throw error;
  }
  for (const { apiKey, clientSecret, siteId, roles } of operator.made) {
    io.out(`api key: ${apiKey}`);
    io.out(`client secret: ${clientSecret}`);
    io.out(`site id: ${siteId}`);
    io.out(`roles: ${roles.join(',')}`);
  }
  const [service, metrics] = servers;
  if (metrics) io.out(`metrics on ${metrics.url}/metrics`);
  io.out(`listening on ${service!.url}`);
  await io.stopped();
  await Promise.all(servers.map((server) => server.close()));
  await operator.close();
}
