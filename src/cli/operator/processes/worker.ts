/// <reference types="node" />
/**
 * One process of `tessera operator --processes`: serves like a single process, but sends its output to its parent, and answers
 * `/metrics` with the metrics of all processes.
 */

import cluster from 'node:cluster';
import { setTimeout } from 'node:timers/promises';
import { createMetricsHandler } from '../../../operator/http/router.ts';
import type { Operator } from '../../../operator/index.ts';
import type { Io } from '../../io.ts';
import type { CredentialOutput } from '../credentials.ts';
import { createDrainHandler } from '../drain.ts';
import { serve } from '../serve.ts';
import type { OperatorSettings } from '../settings.ts';
import { databaseFingerprint, processCount } from './group-settings.ts';
import type { MetricsText, Snapshot, StartMessage, ToParent, ToWorker } from './messages.ts';

/** How long a new process waits for its memory of opt-outs before it replaces another one, ms. */
const CURRENT_TIMEOUT_MS = 10_000;
const CURRENT_INTERVAL_MS = 50;

/** Resolves when the message has been written, or cannot be. */
function send(message: ToParent): Promise<void> {
  return new Promise((resolve) => {
    if (!process.connected) return resolve();
    process.send!(message, undefined, undefined, () => resolve());
  });
}

function onMessage(handle: (message: ToWorker) => void): void {
  process.on('message', handle);
}

/** Answers a request for the metrics with those of all processes, as an operator answers with its own. */
function createParentMetrics() {
  const waiting = new Map<number, (metrics: MetricsText) => void>();
  let next = 0;
  onMessage((message) => {
    if (message.type !== 'metrics') return;
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  const ask = (): Promise<MetricsText> =>
    new Promise((resolve) => {
      waiting.set(next, resolve);
      void send({ type: 'metrics', id: next++ });
    });
  return createMetricsHandler(ask);
}

/** Answers /metrics with `handleMetrics`, which answers 404 to other paths, and all other paths with the operator. */
function withMetrics(
  operator: Operator,
  handleMetrics: (request: Request) => Promise<Response>,
): Pick<Operator, 'fetch'> {
  return {
    fetch: async (request, caller) => {
      if (request.url.includes('/metrics')) {
        const response = await handleMetrics(request);
        if (response.status !== 404) return response;
      }
      return operator.fetch(request, caller);
    },
  };
}

async function stopRequested(io: Io): Promise<void> {
  const received = new Promise<void>((resolve) => {
    onMessage(({ type }) => {
      if (type === 'stop') resolve();
    });
  });
  // If the parent ends, Node ends its workers.
  await Promise.race([received, io.stopped()]);
}

/** Undefined if the parent sends `stop` first. */
function askForStart(stopped: Promise<void>): Promise<StartMessage | undefined> {
  const started = new Promise<StartMessage>((resolve) => {
    onMessage((message) => {
      if (message.type === 'start') resolve(message);
    });
  });
  void send({ type: 'ready' });
  return Promise.race([started, stopped.then(() => undefined)]);
}

/** The files may have changed since the group started. A process with another state would return other IDs and opt-outs. */
function checkSettings(settings: OperatorSettings, { database }: StartMessage): void {
  processCount(settings);
  if (databaseFingerprint(settings) !== database)
    throw new RangeError(
      '--database: expected the database of the running processes, got another; restart all of them',
    );
}

async function snapshotOf(operator: Operator): Promise<Snapshot> {
  return (await operator.metrics.snapshot()) as Snapshot;
}

/** Until then, every refresh queries the database. */
async function optOutsCurrent(operator: Operator): Promise<void> {
  for (const endAt = performance.now() + CURRENT_TIMEOUT_MS; performance.now() < endAt; ) {
    const gauge = (await snapshotOf(operator)).find(({ name }) => name === 'tessera_opt_outs_current');
    if (gauge?.values?.[0]?.value !== 0) return;
    await setTimeout(CURRENT_INTERVAL_MS);
  }
}

async function serveInGroup(
  settings: OperatorSettings,
  output: CredentialOutput,
  start: StartMessage,
  { io, stopped }: { readonly io: Io; readonly stopped: Promise<void> },
): Promise<void> {
  const { isFirst, envFile, hasMetricsPort } = start;
  // The parent drains the group. A process that is replaced does not drain.
  const { metricsPort: _, processes: __, drainSeconds: ___, publicMetrics = true, ...rest } = settings;
  const parentMetrics = createParentMetrics();
  let operator: Operator | undefined;
  const lines: string[] = [];
  const announce = async (address: string): Promise<void> => {
    if (!isFirst) await Promise.race([optOutsCurrent(operator!), stopped]);
    await send({ type: 'listening', lines, address });
  };
  const own: Io = {
    ...io,
    out: (line) => {
      if (line.startsWith('listening on ')) void announce(line);
      else lines.push(line);
    },
    // Every process would print the same warnings.
    err: (line) => {
      if (isFirst || !line.startsWith('warning:')) io.err(line);
    },
    stopped: () => stopped,
  };
  const wrap = (created: Operator): Pick<Operator, 'fetch'> => {
    operator = created;
    const report = async (id: number) => send({ type: 'snapshot', id, snapshot: await snapshotOf(created) });
    onMessage((message) => {
      if (message.type === 'snapshot') void report(message.id);
    });
    const handler = createDrainHandler(
      publicMetrics && !hasMetricsPort ? withMetrics(created, parentMetrics) : created,
    );
    onMessage(({ type }) => {
      if (type === 'drain') handler.drain();
    });
    return handler;
  };
  await serve({ ...rest, publicMetrics: false }, isFirst ? { ...output, envFile } : { onlyAdded: true }, own, {
    wrap,
    opensPortsLast: !isFirst,
  });
  // It includes the requests answered after the parent's last query.
  await send({ type: 'snapshot', snapshot: await snapshotOf(operator!) });
}

async function run(load: () => Promise<OperatorSettings>, output: CredentialOutput, io: Io): Promise<void> {
  const stopped = stopRequested(io);
  const start = await askForStart(stopped);
  if (!start) return;
  const settings = await load()
    .then((loaded) => {
      checkSettings(loaded, start);
      return loaded;
    })
    .catch(async (error: Error) => {
      await send({ type: 'refused', reason: error.message });
      throw error;
    });
  await serveInGroup(settings, output, start, { io, stopped });
}

/**
 * Serve until the parent sends `stop`.
 *
 * @param load    reads the settings.
 * @param output  where the credentials go. Only the first process prints those that were generated earlier.
 */
export async function serveAsWorker(
  load: () => Promise<OperatorSettings>,
  output: CredentialOutput,
  io: Io,
): Promise<void> {
  io.serves?.();
  // A closing terminal sends SIGHUP to all processes of the command; the parent handles it.
  process.on('SIGHUP', () => {});
  try {
    await run(load, output, io);
  } finally {
    // The channel to the parent would keep this process alive. `process.disconnect` would end it with exit code 0.
    cluster.worker?.disconnect();
  }
}
