/// <reference types="node" />
/** Starts one process of `tessera operator --processes`, answers its messages, and prints the credentials that it generates. */

import type { Worker } from 'node:cluster';
import type { Io } from '../../io.ts';
import type { CredentialOutput } from '../credentials.ts';
import { createLog } from '../process.ts';
import type { OperatorSettings } from '../settings.ts';
import { databaseFingerprint } from './group-settings.ts';
import type { ToParent } from './messages.ts';
import type { Collector } from './metrics.ts';
import { afterLastMessage, answerOf, exitOf, forkWorker, sendTo } from './worker-handle.ts';

/** The parts that a group of processes is created from. */
export interface GroupOptions {
  readonly count: number;
  readonly settings: OperatorSettings;
  readonly output: CredentialOutput;
  readonly io: Io;
}

type Started = { readonly worker: Worker; readonly address: string } | { readonly reason: string };

/**
 * Create the function that starts a process. It resolves when the process listens, or with the reason why it has ended.
 * Credentials that the process has generated are printed whatever happens to the others.
 */
export function createStarter({ settings, output, io }: GroupOptions, collect: Collector, isStopping: () => boolean) {
  // Processes that have not ended.
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
        sendTo(
          worker,
          // The process could not receive `stop` before it was ready.
          isStopping()
            ? { type: 'stop' }
            : { ...common, isFirst, hasMetricsPort, envFile: isFirst ? output.envFile : undefined },
        );
      if (message.type === 'metrics') sendTo(worker, { type: 'metrics', id: message.id, ...(await collect.text()) });
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
}
