/// <reference types="node" />
/**
 * A worker from its parent's side: starts it, sends it messages, and waits for its answers and its end.
 *
 * A process that could not be created emits `error` and neither `exit` nor `disconnect`.
 */

import cluster, { type Worker } from 'node:cluster';
import { WORKER_VARIABLE } from '../settings.ts';
import type { ToParent, ToWorker } from './messages.ts';

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error';
}

/** Node 20 also reads an `--env-file` after the script name, and ends if the file does not exist yet. */
function withoutEnvFile(args: readonly string[]): string[] {
  return args.filter((arg, at) => !/^--env-file(?:=|$)/.test(arg) && args[at - 1] !== '--env-file');
}

/**
 * Start a process with the same command line as this one.
 *
 * @param onError  receives the reason why a message or a connection could not be passed to it, or why it could not be created.
 * @throws {Error} if the system refuses immediately.
 */
export function forkWorker(onMessage: (message: ToParent, worker: Worker) => void, onError: (reason: string) => void) {
  cluster.setupPrimary({ args: withoutEnvFile(process.argv.slice(2)) });
  const worker = cluster.fork({ [WORKER_VARIABLE]: '1' });
  worker.on('message', (message: ToParent) => onMessage(message, worker));
  worker.on('error', (error) => onError(codeOf(error)));
  return worker;
}

/** Send a message. A message that cannot be delivered is dropped, because the worker has ended. */
export function sendTo(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {});
}

function wasCreated(worker: Worker): boolean {
  return worker.process.pid !== undefined;
}

function reasonOf(code: number | null, signal: string | null): string {
  return `${signal ?? `exit code ${code}`}`;
}

/** Calls `handle` with the reason when the process ends, or could not be created. Returns a function that removes the listeners. */
function onEnd(worker: Worker, handle: (reason: string) => void): () => void {
  const exited = (code: number | null, signal: string | null): void => handle(reasonOf(code, signal));
  const failed = (error: Error): void => {
    if (!wasCreated(worker)) handle(codeOf(error));
  };
  worker.on('exit', exited);
  worker.on('error', failed);
  return () => void worker.off('exit', exited).off('error', failed);
}

/** Resolves with the reason when the process ends, or could not be created. */
export function exitOf(worker: Worker): Promise<string> {
  return new Promise((resolve) => {
    const { exitCode, signalCode } = worker.process;
    if (worker.isDead() && wasCreated(worker)) return resolve(reasonOf(exitCode, signalCode));
    onEnd(worker, resolve);
  });
}

/** Call `handle` when the process has ended and all its messages have been read. */
export function afterLastMessage(worker: Worker, handle: () => void): void {
  worker.once('exit', () => (worker.isConnected() ? worker.once('disconnect', handle) : handle()));
}

/** Resolves when `worker` sends a message of this type; undefined if it ends first, or after `timeoutMs`. */
export function answerOf<T extends ToParent['type']>(
  worker: Worker,
  type: T,
  accepts: (message: Extract<ToParent, { type: T }>) => boolean = () => true,
  timeoutMs?: number,
): Promise<Extract<ToParent, { type: T }> | undefined> {
  return new Promise((resolve) => {
    const end = (message?: Extract<ToParent, { type: T }>): void => {
      clearTimeout(timer);
      worker.off('message', check);
      stopWatching();
      resolve(message);
    };
    const check = (message: ToParent): void => {
      if (message.type === type && accepts(message as never)) end(message as never);
    };
    const timer = timeoutMs === undefined ? undefined : setTimeout(end, timeoutMs);
    const stopWatching = onEnd(worker, () => end());
    worker.on('message', check);
    if (worker.isDead() && wasCreated(worker)) end();
  });
}
