/// <reference types="node" />
/**
 * `tessera operator`: serves an operator on a port until a signal stops it. Standard output contains generated credentials, and
 * one line when the operator serves. Everything else goes to standard error.
 */

import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { HEALTH_PATH, pathOf } from '../../operator/http/router.ts';
import { createOperator, type Operator, type OperatorOptions } from '../../operator/index.ts';
import { type Listening, type ListenOptions, listen } from '../../operator/node.ts';
import { isLoopback } from '../../token/checks.ts';
import { announceNewDatabase } from '../input/existing-database.ts';
import type { Io } from '../io.ts';
import { warn } from '../output/style.ts';
import { announceCredentials, type CredentialOutput } from './credentials.ts';
import { checkEnvFile } from './env-file.ts';
import { listenError, type PortOption } from './listen-error.ts';
import { COMMAND_OPTIONS, type OperatorSettings, operatorOptions } from './settings.ts';

type Handler = Parameters<typeof listen>[0];
type OperatorLogger = NonNullable<OperatorOptions['logger']>;

const { port: PORT, host: HOST, logLevel: LOG_LEVEL } = COMMAND_OPTIONS;

function warnAboutHost(host: string, io: Io): void {
  if (isLoopback(host) || host === '::1') return;
  warn(
    '--host: other machines reach this port by plain http; put a proxy with TLS in front (https://github.com/tessera-id/tessera/blob/main/docs/operating/deployment.md#tls-and-proxy)',
    io,
  );
}

function warnAboutMemory({ rootSecret }: OperatorSettings, io: Io): void {
  if (rootSecret === undefined)
    warn('no root secret: a random one is used, so IDs, keys and tokens become invalid when this process ends', io);
  warn('opt-outs are kept in memory and are lost when this process ends', io);
}

const unavailable: Handler = { fetch: async () => new Response(null, { status: 503 }) };

/** After `drain`, health checks get 503, so that a load balancer sends new requests elsewhere before the port is closed. */
function createDrainHandler(operator: Operator) {
  let isDraining = false;
  const fetch: Handler['fetch'] = async (request, caller) =>
    isDraining && pathOf(request) === HEALTH_PATH
      ? new Response('the operator is stopping', { status: 503, headers: { 'cache-control': 'no-store' } })
      : operator.fetch(request, caller);
  const drain = (): void => {
    isDraining = true;
  };
  return { fetch, drain };
}

/** A handler whose requests wait until their handler is known. */
function createLateHandler() {
  let set = (_: Handler): void => {};
  const target = new Promise<Handler>((resolve) => {
    set = resolve;
  });
  const fetch: Handler['fetch'] = async (request, caller) => (await target).fetch(request, caller);
  return { fetch, set };
}

async function openPort(
  option: PortOption,
  handler: Handler,
  options: ListenOptions & { readonly port: number; readonly host: string },
): Promise<Listening> {
  try {
    // This process belongs to the operator alone.
    return await listen(handler, { ...options, replaceGlobals: true });
  } catch (error) {
    throw listenError(error, option, options.host, options.port);
  }
}

/** The ports, which open before the operator exists, so that a start that fails on a port has stored nothing. */
function createPorts({ port = PORT.default, host = HOST.default, metricsPort, trustProxy }: OperatorSettings) {
  const service = createLateHandler();
  const metrics = createLateHandler();
  const servers: Listening[] = [];
  return {
    service,
    metrics,
    open: async (): Promise<void> => {
      servers.push(await openPort('--port', service, { port, host, ...(trustProxy !== undefined && { trustProxy }) }));
      if (metricsPort !== undefined)
        servers.push(await openPort('--metrics-port', metrics, { port: metricsPort, host }));
    },
    servers: servers as readonly Listening[],
    close: () => Promise.all(servers.map((server) => server.close())),
  };
}

export async function serve(settings: OperatorSettings, output: CredentialOutput, io: Io): Promise<void> {
  const { host = HOST.default, metricsPort, drainSeconds = 0, logLevel: level = LOG_LEVEL.default } = settings;
  warnAboutHost(host, io);
  if (output.envFile !== undefined) await checkEnvFile(output.envFile);
  // Without host name and PID, which log collectors add.
  const log = pino({ base: null, level }, { write: (line) => io.err(line.trimEnd()) });
  let hasStarted = false;
  const logger: OperatorLogger = {
    info: (fields, message) => log.info(fields, message),
    warn: (fields, message) => log.warn(fields, message),
    // The only error that an operator logs before it has started is why it cannot start. The command prints that itself.
    error: (fields, message) => {
      if (hasStarted) log.error(fields, message);
    },
  };
  const ports = createPorts(settings);
  let operator: Operator | undefined;
  let service: ReturnType<typeof createDrainHandler>;
  let stopped: Promise<void>;
  try {
    await ports.open();
    operator = createOperator({
      ...(metricsPort !== undefined && { publicMetrics: false }),
      ...operatorOptions(settings),
      logger,
    });
    service = createDrainHandler(operator);
    ports.service.set(service);
    ports.metrics.set(operator.metrics);
    if (operator.inMemory) warnAboutMemory(settings, io);
    if (settings.database !== undefined) await announceNewDatabase(settings.database, io);
    await operator.ready;
    hasStarted = true;
    const [main, metrics] = ports.servers;
    if (metrics) io.out(`metrics on ${metrics.url}/metrics`);
    const { credentialVariables } = settings;
    await announceCredentials(operator, main!.url, { ...output, credentialVariables }, io);
    // A reader of the line may send the signal at once.
    stopped = io.stopped(drainSeconds * 1000);
    io.out(`listening on ${main!.url}`);
  } catch (error) {
    // Answer the requests that wait for an operator that could not be created.
    if (!operator) for (const handler of [ports.service, ports.metrics]) handler.set(unavailable);
    await ports.close();
    // Releases the lock of a database folder.
    await operator?.close();
    throw error;
  }
  await stopped;
  log.info(drainSeconds > 0 ? { drainSeconds } : {}, 'stopping');
  service.drain();
  await setTimeout(drainSeconds * 1000);
  await ports.close();
  await operator.close();
}
