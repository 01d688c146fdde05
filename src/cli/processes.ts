/// <reference types="node" />
/**
 * `tessera operator --processes`: several processes behind one port, to use all cores. This process answers no request of the
 * service: it starts the others, replaces those that end, and adds up their metrics.
 *
 * SIGHUP replaces one process after the other: the new one listens before the old one stops. SIGINT and SIGTERM stop all.
 */

import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { pino } from 'pino';
import { type Listening, listen } from '../operator/node.ts';
import type { Io } from './io.ts';
import type { OperatorSettings } from './operator-settings.ts';
import type { Snapshot, ToParent, ToWorker } from './process-messages.ts';
import { WORKER_VARIABLE } from './process-messages.ts';
import { createProcessMetrics } from './process-metrics.ts';

const FIRST_BACK_OFF_MS = 500;
const MAX_BACK_OFF_MS = 30_000;
/** A process that has run for so long does not count as one that fails again and again, ms. */
const STABLE_MS = 60_000;
const SNAPSHOT_TIMEOUT_MS = 2000;
/** Longer than a process needs to close its connections, ms. */
const STOP_TIMEOUT_MS = 20_000;

const tell = (worker: Worker, message: ToWorker): void => {
  if (worker.isConnected()) worker.send(message);
};

const exitOf = async (worker: Worker): Promise<string> => {
  const [code, signal] = worker.isDead()
    ? [worker.process.exitCode, worker.process.signalCode]
    : await once(worker, 'exit');
  return `${signal ?? `exit code ${code}`}`;
};

// Resolves when `worker` sends a message of this type; undefined if it ends first, or after `timeoutMs`.
const answerOf = <T extends ToParent['type']>(
  worker: Worker,
  type: T,
  accepts: (message: Extract<ToParent, { type: T }>) => boolean = () => true,
  timeoutMs?: number,
): Promise<Extract<ToParent, { type: T }> | undefined> =>
  new Promise((resolve) => {
    const end = (message?: Extract<ToParent, { type: T }>): void => {
      clearTimeout(timer);
      worker.off('message', check);
      worker.off('exit', gone);
      resolve(message);
    };
    const gone = (): void => end();
    const check = (message: ToParent): void => {
      if (message.type === type && accepts(message as never)) end(message as never);
    };
    const timer = timeoutMs === undefined ? undefined : setTimeout(end, timeoutMs);
    worker.on('message', check);
    worker.on('exit', gone);
  });

// Asks the processes for their metrics.
const createCollector = (workers: () => Iterable<Worker>) => {
  const metrics = createProcessMetrics();
  let next = 0;
  const ask = async (worker: Worker): Promise<void> => {
    const id = next++;
    const answer = answerOf(worker, 'snapshot', (message) => message.id === id, SNAPSHOT_TIMEOUT_MS);
    tell(worker, { type: 'snapshot', id });
    const snapshot: Snapshot | undefined = (await answer)?.snapshot;
    if (snapshot) metrics.update(worker.id, snapshot);
  };
  return {
    ask,
    end: (worker: Worker) => metrics.end(worker.id),
    text: async () => {
      await Promise.all([...workers()].map(ask));
      return metrics.text();
    },
  };
};

const stop = async (worker: Worker, collect: ReturnType<typeof createCollector>): Promise<void> => {
  const ended = exitOf(worker);
  await collect.ask(worker);
  tell(worker, { type: 'stop' });
  const timer = setTimeout(() => worker.process.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
};

// The process has printed why. Its exit code 2 means wrong options, as a RangeError does here.
const startError = (reason: string): Error =>
  new (reason === 'exit code 2' ? RangeError : Error)(`a process could not start (${reason})`);

type Started = { readonly worker: Worker; readonly lines: readonly string[] } | { readonly reason: string };

// Returns a function that starts a process: resolves with what it would print when it listens, or with why it has ended.
const createStarter = (collect: ReturnType<typeof createCollector>) => {
  let hasStarted = false;
  return async (): Promise<Started> => {
    const isFirst = !hasStarted;
    hasStarted = true;
    const worker = cluster.fork({ [WORKER_VARIABLE]: '1' });
    worker.on('message', async (message: ToParent) => {
      if (message.type === 'ready') tell(worker, { type: 'start', isFirst });
      if (message.type === 'metrics') tell(worker, { type: 'metrics', id: message.id, ...(await collect.text()) });
    });
    worker.on('exit', () => void collect.end(worker));
    const ended = exitOf(worker);
    const listening = await answerOf(worker, 'listening');
    return listening ? { worker, lines: listening.lines } : { reason: await ended };
  };
};

const createLog = ({ logLevel: level = 'info' }: OperatorSettings, io: Io) =>
  pino({ base: null, level }, { write: (line) => io.err(line.trimEnd()) });

const nextBackOff = (ms: number): number => Math.min(2 * ms, MAX_BACK_OFF_MS);

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Create the group of processes. */
const createGroup = (count: number, settings: OperatorSettings, io: Io) => {
  const serving = new Set<Worker>();
  // Another process has taken their place.
  const replaced = new WeakSet<Worker>();
  const log = createLog(settings, io);
  const collect = createCollector(() => serving);
  const start = createStarter(collect);
  let isStopping = false;

  const startAgain = async (firstWaitMs: number): Promise<Worker | undefined> => {
    for (let waitMs = firstWaitMs; ; waitMs = nextBackOff(waitMs)) {
      await pause(waitMs);
      if (isStopping) return undefined;
      const next = await start();
      if ('worker' in next) return next.worker;
      log.error(next, 'a process could not start');
    }
  };
  const keep = async (first: Worker): Promise<void> => {
    let backOffMs = FIRST_BACK_OFF_MS;
    for (let worker: Worker | undefined = first; worker; worker = await startAgain(backOffMs)) {
      serving.add(worker);
      const startedAt = performance.now();
      const reason = await exitOf(worker);
      serving.delete(worker);
      if (isStopping || replaced.has(worker)) return;
      backOffMs = performance.now() - startedAt >= STABLE_MS ? FIRST_BACK_OFF_MS : nextBackOff(backOffMs);
      log.error({ reason, inMs: backOffMs }, 'a process has ended and is started again');
    }
  };

  return {
    collect,
    start: async (): Promise<readonly string[]> => {
      // The first one creates what the others find: tables, root secret, participants.
      const first = await start();
      const all = 'reason' in first ? [] : await Promise.all(Array.from({ length: count - 1 }, start));
      for (const one of [first, ...all]) {
        if ('reason' in one) throw startError(one.reason);
        void keep(one.worker);
      }
      return 'lines' in first ? first.lines : [];
    },
    restart: async (): Promise<void> => {
      for (const worker of [...serving]) {
        if (isStopping) return;
        const next = await start();
        if ('reason' in next) return log.error(next, 'a new process could not start; the others continue');
        replaced.add(worker);
        void keep(next.worker);
        await stop(worker, collect);
      }
      log.info({}, 'every process has been replaced');
    },
    stop: async (): Promise<void> => {
      isStopping = true;
      await Promise.all(Object.values(cluster.workers ?? {}).map((worker) => worker && stop(worker, collect)));
    },
  };
};

// Serves GET /metrics and nothing else.
const metricsServer = (text: () => Promise<{ text: string; contentType: string }>) => ({
  fetch: async ({ url, method }: Request): Promise<Response> => {
    const headers = { 'cache-control': 'no-store' };
    if (new URL(url).pathname !== '/metrics') return new Response(null, { status: 404, headers });
    if (method !== 'GET') return new Response(null, { status: 405, headers: { ...headers, allow: 'GET' } });
    const answer = await text();
    return new Response(answer.text, { headers: { ...headers, 'content-type': answer.contentType } });
  },
});

/**
 * Run `count` processes until a signal stops this one.
 *
 * @throws {Error} if one of the first processes does not start. It has printed why.
 */
export async function runProcesses(count: number, settings: OperatorSettings, io: Io): Promise<void> {
  const { metricsPort, host = '127.0.0.1' } = settings;
  const group = createGroup(count, settings, io);
  let metrics: Listening | undefined;
  let restarting = Promise.resolve();
  const restart = (): void => {
    restarting = restarting.then(() => group.restart());
  };
  const stopped = io.stopped();
  try {
    const lines = await group.start();
    process.on('SIGHUP', restart);
    if (metricsPort !== undefined) {
      metrics = await listen(metricsServer(group.collect.text), { port: metricsPort, host });
      io.out(`metrics on ${metrics.url}/metrics`);
    }
    for (const line of lines) io.out(line);
    await stopped;
  } finally {
    process.off('SIGHUP', restart);
    await group.stop();
    await metrics?.close();
  }
}
