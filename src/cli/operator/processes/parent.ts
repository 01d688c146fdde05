/// <reference types="node" />
/**
 * `tessera operator --processes`: several processes behind one port, to use all cores. This process answers no requests for the
 * service: it starts the workers, replaces those that end, and adds up their metrics.
 *
 * SIGHUP replaces one process after another: the new one listens before the old one stops. SIGINT, SIGTERM and a closing terminal
 * stop all processes.
 */

import type { Worker } from 'node:cluster';
import { setTimeout as wait } from 'node:timers/promises';
import { createMetricsHandler } from '../../../operator/http/router.ts';
import type { Listening } from '../../../operator/node.ts';
import { sleep } from '../../../server/retry.ts';
import type { Io } from '../../io.ts';
import type { CredentialOutput } from '../credentials.ts';
import { createLog, openPort, withHangUp } from '../process.ts';
import type { OperatorSettings } from '../settings.ts';
import { type Collector, createCollector } from './metrics.ts';
import { createStarter, type GroupOptions } from './starter.ts';
import { exitOf, sendTo } from './worker-handle.ts';

const FIRST_BACK_OFF_MS = 500;
const MAX_BACK_OFF_MS = 30_000;
/** A process that has run for this long is not one that fails repeatedly, ms. */
const STABLE_MS = 60_000;
/** Longer than a process needs to close its connections, ms. */
const STOP_TIMEOUT_MS = 20_000;

async function stop(worker: Worker, collect: Collector): Promise<void> {
  const ended = exitOf(worker);
  await collect.ask(worker);
  sendTo(worker, { type: 'stop' });
  const timer = setTimeout(() => worker.process.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
}

/** The process has already printed the cause. Its exit code 2 means wrong options, which is a RangeError here. */
function startError(reason: string): Error {
  return new (reason === 'exit code 2' ? RangeError : Error)(`a process could not start (${reason})`);
}

function nextBackOff(ms: number): number {
  return Math.min(2 * ms, MAX_BACK_OFF_MS);
}

/** The common state of the functions of a group. */
function createGroupState(options: GroupOptions) {
  const serving = new Set<Worker>();
  const controller = new AbortController();
  const { signal: stopping } = controller;
  const collect = createCollector(() => serving);
  return {
    /** Aborted when the group stops. */
    stopping,
    stop: () => controller.abort(),
    serving,
    // Processes that another process replaces.
    replaced: new WeakSet<Worker>(),
    log: createLog(options.settings, options.io),
    collect,
    ...createStarter(options, collect, () => stopping.aborted),
  };
}

type GroupState = ReturnType<typeof createGroupState>;

async function startAgain({ stopping, start, log }: GroupState, firstWaitMs: number): Promise<Worker | undefined> {
  for (let waitMs = firstWaitMs; ; waitMs = nextBackOff(waitMs)) {
    // The pause would keep the process alive after the group has stopped.
    await sleep(waitMs, stopping).catch(() => {});
    if (stopping.aborted) return undefined;
    const next = await start();
    if ('worker' in next) return next.worker;
    log.error(next, 'a process could not start');
  }
}

/** Keeps one process running, starting with `first`. */
async function keep(group: GroupState, first?: Worker): Promise<void> {
  const { stopping, serving, replaced, log } = group;
  let backOffMs = FIRST_BACK_OFF_MS;
  let worker = first ?? (await startAgain(group, backOffMs));
  for (; worker; worker = await startAgain(group, backOffMs)) {
    serving.add(worker);
    const startedAt = performance.now();
    const reason = await exitOf(worker);
    serving.delete(worker);
    if (stopping.aborted || replaced.has(worker)) return;
    backOffMs = performance.now() - startedAt >= STABLE_MS ? FIRST_BACK_OFF_MS : nextBackOff(backOffMs);
    log.error({ reason, inMs: backOffMs }, 'a process has ended and is started again');
  }
}

/** Returns why no other process could replace it. */
async function replace(group: GroupState, worker: Worker): Promise<{ reason: string } | undefined> {
  const { serving, replaced, collect, start } = group;
  // From now on, `keep` starts no other process if this one ends.
  replaced.add(worker);
  const next = await start();
  if ('reason' in next) {
    replaced.delete(worker);
    if (!serving.has(worker)) void keep(group);
    return next;
  }
  void keep(group, next.worker);
  await stop(worker, collect);
  return undefined;
}

/** Create the group of processes. */
function createGroup(options: GroupOptions) {
  const group = createGroupState(options);
  const { stopping, serving, running, log, collect, start } = group;
  return {
    collect,
    log,
    /** Resolves with the line that contains the address of the group. */
    start: async (): Promise<string> => {
      // The first process creates what the others find: tables, root secret, participants.
      const first = await start();
      if ('reason' in first) throw startError(first.reason);
      const others = await Promise.all(Array.from({ length: options.count - 1 }, start));
      for (const one of [first, ...others]) {
        if ('reason' in one) throw startError(one.reason);
        void keep(group, one.worker);
      }
      return first.address;
    },
    restart: async (): Promise<void> => {
      for (const worker of [...serving]) {
        if (stopping.aborted) return;
        // A process that has ended meanwhile is restarted anyway, with the current files.
        if (!serving.has(worker)) continue;
        const failure = await replace(group, worker);
        if (failure) return log.error(failure, 'a new process could not start; the others continue');
      }
      log.info({}, 'every process has been replaced');
    },
    /** @param drainMs  how long the processes still answer, while their health check answers 503. */
    stop: async (drainMs: number): Promise<void> => {
      group.stop();
      if (drainMs > 0) {
        for (const worker of running) sendTo(worker, { type: 'drain' });
        await wait(drainMs);
      }
      await Promise.all([...running].map((worker) => stop(worker, collect)));
    },
  };
}

async function openMetricsPort(
  { metricsPort, host = '127.0.0.1' }: OperatorSettings,
  collect: Collector,
): Promise<Listening | undefined> {
  if (metricsPort === undefined) return undefined;
  return openPort('--metrics-port', { fetch: createMetricsHandler(collect.text) }, { port: metricsPort, host });
}

/**
 * Run `count` processes until a signal stops this one.
 *
 * @param output  where the credentials go that the first start generates.
 * @throws {Error} if one of the first processes does not start. It has already printed the cause.
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
  // A restart that is requested during the start follows the start.
  let restarting = new Promise<void>((resolve) => {
    endStart = resolve;
  });
  const restart = (): void => {
    restarting = restarting
      .then(() => group.restart())
      .catch((error: Error) => group.log.error({ error: error.name }, 'the processes could not be replaced'));
  };
  await withHangUp(io, restart, async (own) => {
    const fullDrainMs = (settings.drainSeconds ?? 0) * 1000;
    let drainMs = 0;
    const stopped = own.stopped(fullDrainMs);
    try {
      // First, because a start that fails on a port in use must have stored nothing.
      metrics = await openMetricsPort(settings, group.collect);
      const address = await Promise.race([group.start(), stopped]);
      if (metrics && address) io.out(`metrics on ${metrics.url}/metrics`);
      if (address) io.out(address);
      endStart?.();
      await stopped;
      drainMs = fullDrainMs;
      if (drainMs > 0) group.log.info({ drainSeconds: settings.drainSeconds }, 'stopping');
    } finally {
      await group.stop(drainMs);
      await metrics?.close();
    }
  });
}
