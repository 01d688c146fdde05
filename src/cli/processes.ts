/// <reference types="node" />
/**
 * `tessera operator --processes`: several processes behind one port, to use all cores. This process answers no request of the
 * service: it starts the others, replaces those that end, and adds up their metrics.
 *
 * SIGHUP replaces one process after the other: the new one listens before the old one stops. SIGINT and SIGTERM stop all.
 */

import type { Worker } from 'node:cluster';
import { pino } from 'pino';
import type { Listening } from '../operator/node.ts';
import type { Io } from './io.ts';
import type { CredentialOutput } from './operator-credentials.ts';
import { databaseFingerprint, type OperatorSettings } from './operator-settings.ts';
import { type Collector, createCollector } from './process-collector.ts';
import type { ToParent } from './process-messages.ts';
import { metricsHandlerOf } from './process-metrics-handler.ts';
import { openPort } from './process-ports.ts';
import { afterLastMessage, answerOf, exitOf, forkWorker, tell } from './process-worker.ts';

const FIRST_BACK_OFF_MS = 500;
const MAX_BACK_OFF_MS = 30_000;
/** A process that has run for so long does not count as one that fails again and again, ms. */
const STABLE_MS = 60_000;
/** Longer than a process needs to close its connections, ms. */
const STOP_TIMEOUT_MS = 20_000;

const stop = async (worker: Worker, collect: Collector): Promise<void> => {
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

const createLog = ({ logLevel: level = 'info' }: OperatorSettings, io: Io) =>
  pino({ base: null, level }, { write: (line) => io.err(line.trimEnd()) });

/** What a group of processes is made from. */
interface GroupOptions {
  readonly count: number;
  readonly settings: OperatorSettings;
  readonly output: CredentialOutput;
  readonly io: Io;
}

type Started = { readonly worker: Worker; readonly address: string } | { readonly reason: string };

// Returns a function that starts a process: resolves when it listens, or with why it has ended. Credentials that it has made
// are printed whatever becomes of the others.
const createStarter = ({ settings, output, io }: GroupOptions, collect: Collector, isStopping: () => boolean) => {
  // Those that have not ended.
  const running = new Set<Worker>();
  const log = createLog(settings, io);
  const common = { type: 'start', database: databaseFingerprint(settings) } as const;
  const hasMetricsPort = settings.metricsPort !== undefined;
  let hasStarted = false;

  const fork = (): { worker: Worker; refusal: () => string | undefined } => {
    const isFirst = !hasStarted;
    hasStarted = true;
    let refusal: string | undefined;
    const answer = async (message: ToParent, worker: Worker): Promise<void> => {
      collect.receive(worker, message);
      if (message.type === 'refused') refusal = message.reason;
      if (message.type === 'ready')
        tell(
          worker,
          // It could not hear `stop` before it was ready.
          isStopping()
            ? { type: 'stop' }
            : { ...common, isFirst, hasMetricsPort, envFile: isFirst ? output.envFile : undefined },
        );
      if (message.type === 'metrics') tell(worker, { type: 'metrics', id: message.id, ...(await collect.text()) });
    };
    const worker = forkWorker(
      (message, from) => void answer(message, from),
      (reason) => log.error({ reason }, 'a process cannot be reached'),
    );
    return { worker, refusal: () => refusal };
  };

  const start = async (): Promise<Started> => {
    if (isStopping()) return { reason: 'the group stops' };
    let forked: ReturnType<typeof fork>;
    try {
      forked = fork();
    } catch (error) {
      return { reason: (error as NodeJS.ErrnoException).code ?? 'unknown error' };
    }
    const { worker, refusal } = forked;
    running.add(worker);
    afterLastMessage(worker, () => void collect.end(worker));
    const ended = exitOf(worker);
    void ended.then(() => running.delete(worker));
    const listening = await answerOf(worker, 'listening');
    if (!listening) {
      const reason = await ended;
      return { reason: refusal() ?? reason };
    }
    for (const line of listening.lines) io.out(line);
    return { worker, address: listening.address };
  };
  return { start, running: running as ReadonlySet<Worker> };
};

const nextBackOff = (ms: number): number => Math.min(2 * ms, MAX_BACK_OFF_MS);

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Create the group of processes. */
const createGroup = (options: GroupOptions) => {
  const { count, settings, io } = options;
  const serving = new Set<Worker>();
  // Another process takes their place.
  const replaced = new WeakSet<Worker>();
  const log = createLog(settings, io);
  const collect = createCollector(() => serving);
  let isStopping = false;
  const { start, running } = createStarter(options, collect, () => isStopping);

  const startAgain = async (firstWaitMs: number): Promise<Worker | undefined> => {
    for (let waitMs = firstWaitMs; ; waitMs = nextBackOff(waitMs)) {
      await pause(waitMs);
      if (isStopping) return undefined;
      const next = await start();
      if ('worker' in next) return next.worker;
      log.error(next, 'a process could not start');
    }
  };
  // Keeps one process running, from `first` on.
  const keep = async (first?: Worker): Promise<void> => {
    let backOffMs = FIRST_BACK_OFF_MS;
    for (let worker = first ?? (await startAgain(backOffMs)); worker; worker = await startAgain(backOffMs)) {
      serving.add(worker);
      const startedAt = performance.now();
      const reason = await exitOf(worker);
      serving.delete(worker);
      if (isStopping || replaced.has(worker)) return;
      backOffMs = performance.now() - startedAt >= STABLE_MS ? FIRST_BACK_OFF_MS : nextBackOff(backOffMs);
      log.error({ reason, inMs: backOffMs }, 'a process has ended and is started again');
    }
  };
  // Returns why no other process could take its place.
  const replace = async (worker: Worker): Promise<{ reason: string } | undefined> => {
    // From now on `keep` starts no other one if it ends.
    replaced.add(worker);
    const next = await start();
    if ('reason' in next) {
      replaced.delete(worker);
      if (!serving.has(worker)) void keep();
      return next;
    }
    void keep(next.worker);
    await stop(worker, collect);
    return undefined;
  };

  return {
    collect,
    log,
    /** Resolves with the line that says where the group listens. */
    start: async (): Promise<string> => {
      // The first one creates what the others find: tables, root secret, participants.
      const first = await start();
      if ('reason' in first) throw startError(first.reason);
      const others = await Promise.all(Array.from({ length: count - 1 }, start));
      for (const one of [first, ...others]) {
        if ('reason' in one) throw startError(one.reason);
        void keep(one.worker);
      }
      return first.address;
    },
    restart: async (): Promise<void> => {
      for (const worker of [...serving]) {
        if (isStopping) return;
        // One that has ended meanwhile is started again anyway, with the files as they are now.
        if (!serving.has(worker)) continue;
        const failure = await replace(worker);
        if (failure) return log.error(failure, 'a new process could not start; the others continue');
      }
      log.info({}, 'every process has been replaced');
    },
    stop: async (): Promise<void> => {
      isStopping = true;
      await Promise.all([...running].map((worker) => stop(worker, collect)));
    },
  };
};

const openMetricsPort = async (
  { metricsPort, host = '127.0.0.1' }: OperatorSettings,
  collect: Collector,
): Promise<Listening | undefined> => {
  if (metricsPort === undefined) return undefined;
  return openPort('--metrics-port', { fetch: metricsHandlerOf(collect.text) }, { port: metricsPort, host });
};

/**
 * Run `count` processes until a signal stops this one.
 *
 * @param output  where the credentials go that the first start makes.
 * @throws {Error} if one of the first processes does not start. It has printed why.
 */
export async function runProcesses(
  count: number,
  settings: OperatorSettings,
  output: CredentialOutput,
  io: Io,
): Promise<void> {
  const group = createGroup({ count, settings, output, io });
  let metrics: Listening | undefined;
  let endStart: (() => void) | undefined;
  // A restart that is asked for during the start follows it.
  let restarting = new Promise<void>((resolve) => {
    endStart = resolve;
  });
  const restart = (): void => {
    restarting = restarting
      .then(() => group.restart())
      .catch((error: Error) => group.log.error({ error: error.name }, 'the processes could not be replaced'));
  };
  const stopped = io.stopped();
  process.on('SIGHUP', restart);
  try {
    // First: a start that fails for a port in use has stored nothing.
    metrics = await openMetricsPort(settings, group.collect);
    const address = await Promise.race([group.start(), stopped]);
    if (metrics && address) io.out(`metrics on ${metrics.url}/metrics`);
    if (address) io.out(address);
    endStart?.();
    await stopped;
  } finally {
    process.off('SIGHUP', restart);
    await group.stop();
    await metrics?.close();
  }
}
