/// <reference types="node" />
/**
 * One process of `tessera operator --processes`: serves as a single one does, but reports to its parent what that would print,
 * and answers `/metrics` with those of all processes.
 */

import cluster from 'node:cluster';
import { once } from 'node:events';
import type { Operator } from '../operator/index.ts';
import type { Io } from './io.ts';
import type { CredentialOutput } from './operator-credentials.ts';
import type { OperatorSettings } from './operator-settings.ts';
import type { Snapshot, ToParent, ToWorker } from './process-messages.ts';
import { serve } from './serve.ts';

const send = (message: ToParent): void => {
  if (process.connected) process.send!(message);
};

const onMessage = (handle: (message: ToWorker) => void): void => void process.on('message', handle);

// Returns the metrics of all processes.
const createParentMetrics = () => {
  const waiting = new Map<number, (response: Response) => void>();
  let next = 0;
  onMessage((message) => {
    if (message.type !== 'metrics') return;
    const { id, text, contentType } = message;
    waiting.get(id)?.(new Response(text, { headers: { 'cache-control': 'no-store', 'content-type': contentType } }));
    waiting.delete(id);
  });
  return (): Promise<Response> =>
    new Promise((resolve) => {
      waiting.set(next, resolve);
      send({ type: 'metrics', id: next++ });
    });
};

// Answers GET /metrics with `metrics` and everything else with the operator.
const withMetrics = (operator: Operator, metrics: () => Promise<Response>): Pick<Operator, 'fetch'> => ({
  fetch: (request, caller) =>
    request.url.endsWith('/metrics') && request.method === 'GET' && new URL(request.url).pathname === '/metrics'
      ? metrics()
      : operator.fetch(request, caller),
});

const stopRequested = async (): Promise<void> => {
  const told = new Promise<void>((resolve) => {
    onMessage(({ type }) => {
      if (type === 'stop') resolve();
    });
  });
  // If the parent ends, Node ends its workers.
  await Promise.race([told, ...['SIGINT', 'SIGTERM'].map((signal) => once(process, signal))]);
};

const run = async (settings: OperatorSettings, output: CredentialOutput, io: Io): Promise<void> => {
  // A terminal that closes sends it to all processes of the command; the parent answers it.
  process.on('SIGHUP', () => {});
  const stopped = stopRequested();
  const started = new Promise<{ isFirst: boolean }>((resolve) => {
    onMessage((message) => {
      if (message.type === 'start') resolve(message);
    });
  });
  send({ type: 'ready' });
  const { isFirst } = await Promise.race([started, stopped.then(() => ({ isFirst: false }))]);

  const { metricsPort, processes: _, publicMetrics = true, ...rest } = settings;
  const showsMetrics = publicMetrics && metricsPort === undefined;
  const parentMetrics = createParentMetrics();
  const lines: string[] = [];
  const own: Io = {
    ...io,
    out: (line) => void lines.push(line),
    // Every process would give the same warnings.
    err: (line) => {
      if (isFirst || !line.startsWith('warning:')) io.err(line);
    },
    stopped: () => {
      send({ type: 'listening', lines });
      return stopped;
    },
  };
  await serve({ ...rest, publicMetrics: false }, isFirst ? output : {}, own, (operator) => {
    const report = async (id: number) =>
      send({ type: 'snapshot', id, snapshot: (await operator.metrics.snapshot()) as Snapshot });
    onMessage((message) => {
      if (message.type === 'snapshot') void report(message.id);
    });
    return showsMetrics ? withMetrics(operator, parentMetrics) : operator;
  });
};

/**
 * Serve until the parent says `stop`.
 *
 * @param load    reads the settings.
 * @param output  where the credentials go; only the first process of all gives out any.
 */
export async function serveAsWorker(
  load: () => Promise<OperatorSettings>,
  output: CredentialOutput,
  io: Io,
): Promise<void> {
  try {
    await run(await load(), output, io);
  } finally {
    // The channel to the parent would keep this process alive. `process.disconnect` would end it with exit code 0.
    cluster.worker?.disconnect();
  }
}
